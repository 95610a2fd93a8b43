"""Connections to a service: what they send, when they are reused, and how they fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest

from companyos_gateway.engine import unix_connections
from companyos_gateway.engine.service_client import open_connections
from companyos_gateway.engine.service_connections import MAX_CONNECTIONS, TRANSPORT_ERRORS
from companyos_gateway.engine.unix_connections import UnixConnections, _Connection
from verification.ports import free_port

OK = b"HTTP/1.1 200 OK\r\nX-Kind: Note\r\nContent-Length: 2\r\n\r\n{}"


class ScriptedServer:
    """A server on a Unix socket that reads one request per response and keeps its connections."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.responses: list[bytes | None] = []
        """The next responses. None sends nothing; by default, OK is sent."""
        self.closes = False
        """Whether a connection is closed after its response."""
        self.requests: list[bytes] = []
        self.may_respond = asyncio.Event()
        self.may_respond.set()
        self.writers: list[asyncio.StreamWriter] = []
        self.serving: list[asyncio.Task[None]] = []
        """One task per connection; it ends when the connection is closed."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.serving.append(cast("asyncio.Task[None]", asyncio.current_task()))
        self.writers.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
                self.requests.append(head + await reader.readexactly(length))
                await self.may_respond.wait()
                response = self.responses.pop(0) if self.responses else OK
                for part in () if response is None else response.split(b"|"):
                    writer.write(part)
                    await asyncio.sleep(0)
                if self.closes:
                    break
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def wait_for_end(self) -> None:
        """Wait until all connections are closed."""
        async with asyncio.timeout(5):
            await asyncio.gather(*self.serving)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ScriptedServer]:
    server = ScriptedServer(tmp_path / "s")
    listener = await asyncio.start_unix_server(server.serve, server.path, backlog=2 * MAX_CONNECTIONS)
    yield server
    listener.close()
    await server.wait_for_end()


@pytest.fixture
async def connections(server: ScriptedServer) -> AsyncIterator[UnixConnections]:
    connections = UnixConnections(str(server.path))
    yield connections
    await connections.aclose()


async def test_a_request_has_a_host_its_headers_and_the_length_of_its_body(
    server: ScriptedServer, connections: UnixConnections
) -> None:
    await connections.exchange("POST", "/notes?kind=a%20b", {"If-Match": '"é"'}, b'{"a": 1}')
    await connections.exchange("DELETE", "/notes/1", {}, b"")
    await connections.exchange("GET", "/notes", {}, b"")
    expected = 'POST /notes?kind=a%20b HTTP/1.1\r\nHost: service\r\nIf-Match: "é"\r\nContent-Length: 8\r\n\r\n{"a": 1}'
    assert server.requests == [
        expected.encode(),
        b"DELETE /notes/1 HTTP/1.1\r\nHost: service\r\nContent-Length: 0\r\n\r\n",
        b"GET /notes HTTP/1.1\r\nHost: service\r\n\r\n",
    ]


async def test_a_header_with_a_line_break_is_not_sent(server: ScriptedServer, connections: UnixConnections) -> None:
    for value in ("a\r\nHost: other", "a\nb", "a\rb"):
        with pytest.raises(ValueError, match="line break"):
            await connections.exchange("GET", "/notes", {"If-Match": value}, b"")
    assert server.requests == []
    assert (await connections.exchange("GET", "/notes", {}, b"")).is_success


@pytest.mark.parametrize(
    "raw",
    [
        OK,
        b"|".join(OK[n : n + 1] for n in range(len(OK))),
        b"HTTP/1.1 200 OK\r\nx-kind: Note\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n|1\r\n}\r\n0\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n|" + OK,
    ],
    ids=["at once", "byte by byte", "in chunks", "after an interim response"],
)
async def test_a_response_is_received_completely_and_its_connection_is_reused(
    server: ScriptedServer, connections: UnixConnections, raw: bytes
) -> None:
    server.responses = [raw, raw]
    for _ in range(2):
        response = await connections.exchange("GET", "/notes", {}, b"")
        assert (response.status_code, response.headers["x-kind"], response.content) == (200, "Note", b"{}")
        assert "link" not in response.headers
    assert len(server.serving) == 1


@pytest.mark.parametrize(
    ("status", "is_success", "is_error"), [(204, True, False), (304, False, False), (404, False, True)]
)
async def test_a_status_without_a_body_is_received(
    server: ScriptedServer, connections: UnixConnections, status: int, is_success: bool, is_error: bool
) -> None:
    server.responses = [b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % status]
    response = await connections.exchange("GET", "/notes", {}, b"")
    assert (response.status_code, response.is_success, response.is_error) == (status, is_success, is_error)
    assert response.content == b""


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n{}",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"SSH-2.0-server\r\n\r\n",
    ],
    ids=["nothing", "part of the head", "part of the body", "no last chunk", "wrong length", "upgrade", "not HTTP"],
)
async def test_an_incomplete_or_malformed_response_is_an_error_of_the_connection(
    server: ScriptedServer, connections: UnixConnections, raw: bytes
) -> None:
    await connections.exchange("GET", "/notes", {}, b"")
    server.responses, server.closes = [raw], True
    with pytest.raises(TRANSPORT_ERRORS):
        await connections.exchange("GET", "/notes", {}, b"")
    server.closes = False
    assert (await connections.exchange("GET", "/notes", {}, b"")).content == b"{}"
    assert len(server.serving) == 2


@pytest.mark.parametrize(
    "raw",
    [OK.replace(b"X-Kind", b"Connection: close\r\nX-Kind"), OK + OK, OK + b"|" + OK],
    ids=["it asks for the close", "two responses", "two responses, one later"],
)
async def test_a_connection_is_not_reused_after_a_response_that_forbids_it(
    server: ScriptedServer, connections: UnixConnections, raw: bytes
) -> None:
    server.responses = [raw]
    assert (await connections.exchange("GET", "/notes", {}, b"")).content == b"{}"
    await server.wait_for_end()
    assert (await connections.exchange("GET", "/notes", {}, b"")).content == b"{}"
    assert len(server.serving) == 2


async def test_a_response_without_a_request_is_not_given_to_the_next_one(
    server: ScriptedServer, connections: UnixConnections
) -> None:
    await connections.exchange("GET", "/notes", {}, b"")
    server.writers[0].write(OK.replace(b"{}", b"[]"))
    await asyncio.sleep(0.02)
    assert (await connections.exchange("GET", "/notes", {}, b"")).content == b"{}"
    assert len(server.serving) == 2


async def test_a_connection_whose_request_was_not_read_completely_is_not_reused(tmp_path: Path) -> None:
    writers: list[asyncio.StreamWriter] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")

    listener = await asyncio.start_unix_server(refuse, tmp_path / "s")
    connections = UnixConnections(str(tmp_path / "s"))
    for _ in range(2):
        async with asyncio.timeout(5):
            response = await connections.exchange("POST", "/notes", {}, bytes(20_000_000))
        assert response.status_code == 413
    await connections.aclose()
    listener.close()
    for writer in writers:
        writer.transport.abort()
    await asyncio.sleep(0)
    assert len(writers) == 2


async def test_a_request_in_progress_is_completed_when_the_connections_are_closed(
    server: ScriptedServer, connections: UnixConnections
) -> None:
    server.may_respond.clear()
    request = asyncio.create_task(connections.exchange("GET", "/notes", {}, b""))
    await asyncio.sleep(0.02)
    await connections.aclose()
    server.may_respond.set()
    assert (await request).is_success
    await server.wait_for_end()


async def test_a_cancelled_request_does_not_leave_its_response_to_the_next_one(
    server: ScriptedServer, connections: UnixConnections
) -> None:
    await connections.exchange("GET", "/notes", {}, b"")
    server.responses = [None]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await connections.exchange("GET", "/late", {}, b"")
    await server.wait_for_end()
    assert (await connections.exchange("GET", "/notes", {}, b"")).content == b"{}"
    assert len(server.serving) == 2


async def test_a_connection_is_reused_if_its_request_is_cancelled_after_the_response(
    server: ScriptedServer, connections: UnixConnections, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = asyncio.create_task(connections.exchange("GET", "/notes", {}, b""))
    complete = _Connection.on_message_complete

    def complete_and_cancel(connection: _Connection) -> None:
        complete(connection)
        request.cancel()

    monkeypatch.setattr(_Connection, "on_message_complete", complete_and_cancel)
    with pytest.raises(asyncio.CancelledError):
        await request
    monkeypatch.undo()
    assert (await connections.exchange("GET", "/notes", {}, b"")).content == b"{}"
    assert len(server.serving) == 1


async def test_an_idle_connection_is_replaced_when_it_was_closed_or_is_too_old(
    server: ScriptedServer, connections: UnixConnections, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.closes = True
    await connections.exchange("GET", "/notes", {}, b"")
    await server.wait_for_end()
    server.closes = False
    await asyncio.gather(*(connections.exchange("GET", "/notes", {}, b"") for _ in range(3)))
    assert len(server.serving) == 4
    monkeypatch.setattr(unix_connections, "KEEPALIVE_S", 0.0)
    await connections.exchange("GET", "/notes", {}, b"")
    await asyncio.gather(*server.serving[1:4])
    assert len(server.serving) == 5


async def test_requests_wait_for_a_connection_when_all_are_in_use(
    server: ScriptedServer, connections: UnixConnections
) -> None:
    responses = await asyncio.gather(
        *(connections.exchange("GET", "/notes", {}, b"") for _ in range(MAX_CONNECTIONS + 5))
    )
    assert all(response.is_success for response in responses)
    assert len(server.serving) <= MAX_CONNECTIONS


async def test_a_connection_that_is_lost_before_its_request_is_an_error() -> None:
    connection = _Connection()
    connection.connection_lost(None)
    with pytest.raises(ConnectionResetError):
        await connection.exchange(b"GET / HTTP/1.1\r\n\r\n")


async def test_a_service_that_does_not_listen_is_an_error_of_the_connection(tmp_path: Path) -> None:
    for address in (f"unix:{tmp_path / 'missing'}", f"http://127.0.0.1:{free_port()}"):
        connections = open_connections(address)
        with pytest.raises(TRANSPORT_ERRORS):
            await connections.exchange("GET", "/notes", {}, b"")
        await connections.aclose()


async def test_a_service_at_a_url_is_called_below_its_path(server: ScriptedServer) -> None:
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    connections = open_connections(f"http://127.0.0.1:{port}/desk")
    response = await connections.exchange("POST", "/notes?kind=a%20b", {"If-Match": "1"}, b"{}")
    assert (response.status_code, response.headers["x-kind"], response.content) == (200, "Note", b"{}")
    await connections.aclose()
    listener.close()
    head = f"POST /desk/notes?kind=a%20b HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nIf-Match: 1\r\nContent-Length: 2\r\n"
    assert server.requests == [f"{head}\r\n{{}}".encode()]
