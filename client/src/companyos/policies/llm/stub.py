"""Local server of all APIs with scripted responses, for dry runs and tests."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol, Self

from companyos.policies.llm.apis import chat
from companyos.policies.llm.apis.api import Message
from companyos.policies.llm.stub_formats import FORMATS, StubFormat, check_results

HOST = "127.0.0.1"
TOKEN_CHARS = 4
"""Characters per token in the stub's usage figures."""


@dataclass(frozen=True, kw_only=True)
class StubRequest:
    """One received request; header names are in lower case."""

    path: str
    """Path before the API's path, without surrounding slashes."""
    api_path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def format(self) -> StubFormat:
        """Format of the request's API."""
        return FORMATS[self.api_path]

    @cached_property
    def messages(self) -> list[Message]:
        """Messages of the request in the chat completions format."""
        return self.format.messages(self.body)

    @cached_property
    def functions(self) -> list[dict[str, Any]]:
        """Name, description and parameters of the request's tools."""
        return self.format.functions(self.body)


@dataclass(frozen=True, kw_only=True)
class StubError:
    """The body of an error, in the format of the API that receives it."""

    message: str
    code: str | None


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One HTTP response."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Script(Protocol):
    """Source of the responses of a stub server."""

    async def reply(self, received: StubRequest) -> Reply:
        """Return the response to a request; an exception becomes status 500."""
        ...


class StubServer:
    """Stub server within a `with` block: `with StubServer(script) as stub: stub.url`. It stores received requests."""

    def __init__(self, script: Script) -> None:
        self.received: list[StubRequest] = []
        self._script = script
        self._loop = asyncio.new_event_loop()
        self._server = _Server((HOST, 0), _Handler)
        self._server.stub = self
        self._threads = [
            threading.Thread(target=target, daemon=True) for target in (self._loop.run_forever, self._server.serve)
        ]

    @property
    def url(self) -> str:
        """Base URL; any path may follow."""
        return f"http://{HOST}:{self._server.server_address[1]}"

    def reply(self, received: StubRequest) -> Reply:
        """Record a request and return the response of the script; an invalid request gets status 400."""
        self.received.append(received)
        try:
            check_results(received.messages)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            return error_reply(HTTPStatus.BAD_REQUEST, f"the request is invalid: {type(error).__name__}: {error}")
        try:
            return asyncio.run_coroutine_threadsafe(self._script.reply(received), self._loop).result()
        except Exception as error:  # noqa: BLE001  # errors of a script become error responses
            return error_reply(HTTPStatus.INTERNAL_SERVER_ERROR, f"the script broke: {type(error).__name__}: {error}")

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        for thread in self._threads:
            thread.join()
        self._loop.close()


def completion(message: Mapping[str, Any], received: StubRequest) -> Reply:
    """Return a response with a chat completions message; tokens are estimated from characters."""
    tokens = _tokens(received.messages) + _tokens(received.functions), _tokens(message)
    return Reply(body=received.format.answer(dict(message), received.body.get("model"), tokens))


def error_reply(
    status: int, message: str, *, code: str | None = None, headers: Mapping[str, str] | None = None
) -> Reply:
    """Return an error response."""
    return Reply(body=StubError(message=message, code=code), status=status, headers=headers or {})


def _tokens(value: Any) -> int:
    return -(-len(json.dumps(value, ensure_ascii=False)) // TOKEN_CHARS)


async def _cancel_all() -> None:
    pending = asyncio.all_tasks() - {asyncio.current_task()}
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    stub: StubServer

    def serve(self) -> None:
        self.serve_forever(poll_interval=0.02)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        """Respond to a request."""
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        api_path = next((path for path in FORMATS if self.path.endswith(path)), None)
        if api_path is None:
            self._send(error_reply(HTTPStatus.NOT_FOUND, f"unknown path {self.path}"), chat.PATH)
            return
        try:
            body = json.loads(content)
        except ValueError:
            self._send(error_reply(HTTPStatus.BAD_REQUEST, "the body must be valid JSON"), api_path)
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = self.path.removesuffix(api_path).strip("/")
        received = StubRequest(path=path, api_path=api_path, headers=headers, body=body)
        self._send(self.server.stub.reply(received), api_path)

    def log_message(self, format: str, *args: Any) -> None:
        """Suppress the log."""

    def _send(self, reply: Reply, api_path: str) -> None:
        if isinstance(reply.body, StubError):
            reply = replace(reply, body=FORMATS[api_path].error(reply.body.message, reply.body.code))
        content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
