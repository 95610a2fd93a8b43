"""Killed, stopped, silent or unresponsive clients over real connections: their resources are released within the limit.

Ping interval and timeout are 5 s each. The waits of these tests are the limits themselves.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.integration.processes import gateway
from verification.ports import HOST

PING_S = "5"
SLOT_BACK_S = 15.0
BODY_DEADLINE_S = 10.0
REQUEST_DEADLINE_S = 15.0
MARGIN_S = 3.0
POLL_S = 0.1

_FRAME_OF_2_MIB = b"\x81\xff" + (2 * 1024 * 1024).to_bytes(8, "big") + bytes(4)
"""The head of a masked text frame (RFC 6455, section 5.2) that announces 2 MiB."""

PLAYER = """
import json, sys, time
from websockets.sync.client import connect
with connect(sys.argv[1], proxy=None, max_size=None) as socket:
    socket.send(json.dumps({"type": "reset", "data": {"seed": 1, "chaos": 0}}))
    socket.recv()
    print("playing", flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def quick() -> Iterator[str]:
    """The address of a gateway that pings quickly and has eight slots for sockets."""
    pings = {"COMPANYOS_WS_PING_INTERVAL_S": PING_S, "COMPANYOS_WS_PING_TIMEOUT_S": PING_S}
    with gateway(COMPANYOS_MAX_WEBSOCKETS="8", **pings) as url:
        yield url


@contextmanager
def _player(url: str) -> Iterator[subprocess.Popen[str]]:
    """Run a client in its own process, in the middle of an episode."""
    player = subprocess.Popen([sys.executable, "-c", PLAYER, _ws(url)], stdout=subprocess.PIPE, text=True)
    try:
        assert player.stdout is not None
        assert player.stdout.readline() == "playing\n"
        yield player
    finally:
        player.kill()
        player.wait()
        assert player.stdout is not None
        player.stdout.close()


def _ws(url: str) -> str:
    return url.replace("http", "ws", 1) + "/ws"


def _connected(url: str, *, takes: int | None = None) -> socket.socket:
    """Return a TCP connection to the gateway; `takes` is the size of its receive buffer in bytes."""
    connection = socket.socket()
    if takes is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, takes)
    connection.connect((HOST, urlsplit(url).port))
    return connection


def _opened(url: str, *, takes: int | None = None) -> socket.socket:
    """Return a connection that has done the WebSocket handshake and ignores all frames."""
    connection = _connected(url, takes=takes)
    connection.sendall(
        f"GET /ws HTTP/1.1\r\nHost: {HOST}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {b64encode(os.urandom(16)).decode()}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(1)
    assert b"101" in answer.splitlines()[0]
    return connection


def _frame(message: object) -> bytes:
    text = json.dumps(message).encode()
    assert len(text) < 126
    return bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text


def _send_without_reading(non_reader: socket.socket) -> None:
    """Send as many requests as the gateway accepts, and read no response."""
    non_reader.setblocking(False)
    pending = _frame({"type": "step", "data": {"type": "list_tools"}}) * 500
    until = time.monotonic() + 2
    while pending and time.monotonic() < until:
        try:
            pending = pending[non_reader.send(pending) :]
        except BlockingIOError:
            time.sleep(POLL_S)


def _slots_used(url: str) -> int:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{url}/metrics", timeout=5) as answer:
        found = re.search(r"^companyos_slots_used (\d+)", answer.read().decode(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def _wait_until_back(url: str, deadline_s: float, *, held: int = 0) -> float:
    """Wait until at most `held` slots are used; return the elapsed seconds."""
    began = time.monotonic()
    while (used := _slots_used(url)) > held:
        assert time.monotonic() - began < deadline_s, f"{used} slots are held after {deadline_s:g} s"
        time.sleep(POLL_S)
    return time.monotonic() - began


def _cut_after(connection: socket.socket, deadline_s: float) -> tuple[float, bytes]:
    """Wait until the gateway closes a connection; return the elapsed seconds and the data received before."""
    began, received = time.monotonic(), b""
    connection.settimeout(deadline_s)
    try:
        while part := connection.recv(4096):
            received += part
    except ConnectionResetError:
        pass
    return time.monotonic() - began, received


def test_the_slot_of_a_killed_client_is_released_at_once(quick: str) -> None:
    with _player(quick) as player:
        assert _slots_used(quick) == 1
        player.kill()
        assert _wait_until_back(quick, SLOT_BACK_S) < MARGIN_S


def test_the_slots_of_unresponsive_clients_are_released_in_time_and_no_others(quick: str) -> None:
    """One client is stopped midway, one answers no ping, and one sends requests without reading responses."""
    with connect(_ws(quick), proxy=None) as alive, _player(quick) as stopped, _opened(quick):
        stopped.send_signal(signal.SIGSTOP)
        with _opened(quick, takes=4096) as non_reader:
            _send_without_reading(non_reader)
            assert _slots_used(quick) == 4
            assert _wait_until_back(quick, SLOT_BACK_S, held=1) > 1.0, "nobody was pinged"
        alive.send(json.dumps({"type": "state"}))
        assert json.loads(alive.recv(timeout=5))["type"] == "state"
    _wait_until_back(quick, MARGIN_S)


def test_a_full_gateway_reports_its_capacity_and_closes_with_1013(quick: str) -> None:
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(connect(_ws(quick), proxy=None))
        with connect(_ws(quick), proxy=None) as late:
            assert json.loads(late.recv(timeout=5))["data"]["code"] == "CAPACITY_REACHED"
            assert _close_code(late) == 1013
    _wait_until_back(quick, SLOT_BACK_S)


def test_an_oversized_message_is_closed_with_1009(quick: str) -> None:
    with connect(_ws(quick), proxy=None) as player:
        player.send("x" * (70 * 1024))
        assert json.loads(player.recv(timeout=5))["data"]["message"].startswith("body-too-large")
        player.socket.sendall(_FRAME_OF_2_MIB)  # the head alone: the server does not wait for the rest
        assert _close_code(player) == 1009
    _wait_until_back(quick, SLOT_BACK_S)


def test_incomplete_requests_time_out(quick: str) -> None:
    """All at once: no data, half a head, blank lines, and a body byte by byte."""
    head = f"POST /step HTTP/1.1\r\nHost: {HOST}\r\n".encode()
    with _connected(quick) as silent, _connected(quick) as half, _connected(quick) as blank, _connected(quick) as slow:
        half.sendall(head)
        blank.sendall(b"\r\n")
        slow.sendall(head + b'Content-Length: 100\r\n\r\n{"')
        took_s, received = _cut_after(slow, BODY_DEADLINE_S + MARGIN_S)
        assert took_s > BODY_DEADLINE_S - MARGIN_S
        assert b" 408 " in received.splitlines()[0]
        assert b'"body-too-slow"' in received
        for connection in (silent, half, blank):
            took_s, received = _cut_after(connection, REQUEST_DEADLINE_S + MARGIN_S - BODY_DEADLINE_S)
            assert received == b""


def test_an_endless_request_head_is_rejected(quick: str) -> None:
    with _connected(quick) as connection:
        connection.settimeout(5)
        connection.sendall(f"GET /livez HTTP/1.1\r\nHost: {HOST}\r\n".encode() + b"X-More: " + b"y" * 80_000)
        assert b" 400 " in connection.recv(4096).splitlines()[0]


def test_an_endless_request_body_is_rejected_while_it_is_read(quick: str) -> None:
    with _connected(quick) as connection:
        connection.settimeout(5)
        connection.sendall(
            f"POST /step HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
            + (b"1000\r\n" + b" " * 0x1000 + b"\r\n") * 17
        )
        received = connection.recv(4096)
        assert b" 413 " in received.splitlines()[0]
        assert b"connection: close" in received.lower()


def _close_code(connection: ClientConnection) -> int | None:
    with pytest.raises(ConnectionClosed) as closed:
        connection.recv(timeout=5)
    return closed.value.rcvd.code if closed.value.rcvd else None
