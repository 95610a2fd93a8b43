"""Middleware that validates requests before the framework parses them: size, time, strict JSON objects.

An invalid message gets a protocol error. It does not count as a step and does not end the session.
"""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from openenv.core.env_server.mcp_types import JsonRpcErrorCode
from openenv.core.env_server.types import WSErrorCode
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from companyos_gateway.engine.errors import RateLimitedError
from companyos_gateway.middleware.error_responses import PROBLEM_HEADER, problem_body_page, problem_response_of
from companyos_gateway.middleware.json_rpc import (
    MCP_PATH,
    JsonRpcRequestError,
    check_params,
    check_request,
    is_mcp_path,
    parse_leniently,
)
from companyos_gateway.middleware.rate_limit import ADMISSION_SCOPE_KEY, BODY_METHODS, refuse_and_close
from companyos_gateway.page_paths import accepts_form
from companyos_shared.web.route_path import route_path
from companyos_shared.wire.problem import ProblemBody
from companyos_shared.wire.strict_json import MAX_BODY_BYTES, MalformedJsonError, parse_object

JSON_SCOPE_KEY = "companyos.json"
BODY_SCOPE_KEY = "companyos.body"
"""Key of the raw body of a form."""

BODY_DEADLINE_S = 10.0

_STATUS = {"body-too-large": 413, "body-too-slow": 408, "malformed-json": 400}
_UNREAD = frozenset({"body-too-large", "body-too-slow"})
"""Errors after which the rest of the body is not read, so the response closes the connection."""
_OK, _UNPROCESSABLE = 200, 422
_TASK_API_SUFFIXES = ("/task", "/task_range")
_TASK_API_INTEGERS = ("index", "start", "stop")


class BodyLimitMiddleware:
    """ASGI middleware around the whole app; it stores a parsed HTTP body in the scope under JSON_SCOPE_KEY."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "websocket":
            await self._app(scope, _ValidatedSocket(route_path(scope), receive, send).receive, send)
        elif scope["type"] == "http" and scope["method"] in BODY_METHODS:
            await self._serve_body(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _serve_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, body = route_path(scope), b""
        try:
            read = await read_body(receive)
            if read is None:
                return
            body = read
            if (pending := scope.get(ADMISSION_SCOPE_KEY)) is not None:
                await pending.admit(body)
            if accepts_form(path):
                scope[BODY_SCOPE_KEY] = body
            else:
                scope[JSON_SCOPE_KEY] = parse_object(body) if body else {}
            serves_mcp = is_mcp_path(path)
            if serves_mcp:
                check_request(scope[JSON_SCOPE_KEY])
            if serves_mcp or path == MCP_PATH:
                check_params(scope[JSON_SCOPE_KEY])
        except RateLimitedError as problem:
            await refuse_and_close(problem, scope, receive, send)
            return
        except JsonRpcRequestError as error:
            await JSONResponse(error.reply)(scope, receive, send)
            return
        except MalformedJsonError as error:
            await body_error_response(path, body, error)(scope, receive, send)
            return
        if scope["method"] == "POST" and path.endswith(_TASK_API_SUFFIXES) and (names := _non_integers(scope)):
            await _non_integers_response(names)(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)


class _ValidatedSocket:
    """The receiving side of a socket, which responds to invalid messages itself and passes on only valid ones."""

    def __init__(self, path: str, receive: Receive, send: Send) -> None:
        self._path = path
        self._receive = receive
        self._send = send

    async def receive(self) -> Message:
        """Return the next valid message."""
        while True:
            message = await self._receive()
            if message["type"] != "websocket.receive":
                return message
            try:
                text = message.get("text")
                if text is None:
                    raise MalformedJsonError("not-text", "Messages must be text frames; got a binary frame.")
                body = parse_object(text)
                _check_action_type(body)
                check_params(body if self._path == MCP_PATH else _carried_rpc(body))
            except JsonRpcRequestError as error:
                await self._send({"type": "websocket.send", "text": self._error_frame(error)})
            except MalformedJsonError as error:
                await self._send({"type": "websocket.send", "text": _error_message(self._path, error)})
            else:
                return message

    def _error_frame(self, error: JsonRpcRequestError) -> str:
        reply = error.reply if self._path == MCP_PATH else {"type": "mcp", "data": error.reply}
        return orjson.dumps(reply).decode()


def _non_integers(scope: Scope) -> list[str]:
    """Return the strings and booleans where OpenEnv's Task API expects integers; it would accept `false` and `"1"`."""
    body = scope.get(JSON_SCOPE_KEY, {})
    return [name for name in _TASK_API_INTEGERS if isinstance(body.get(name), bool | str)]


def _non_integers_response(names: list[str]) -> Response:
    errors = [{"place": name, "reason": "must be an integer"} for name in names]
    detail = "; ".join(f"{name}: must be an integer" for name in names)
    return problem_response_of(
        ProblemBody(title="Invalid request", status=422, code="invalid-request", detail=detail, errors=errors)
    )


def _check_action_type(body: dict[str, Any]) -> None:
    """Raise MalformedJsonError for an action whose type is not a string: the framework does not check it."""
    data = body.get("data") if body.get("type") == "step" else None
    if isinstance(data, dict) and not isinstance(data.get("type", ""), str):
        raise MalformedJsonError("invalid-action", "The type of an action must be a string.")


def _carried_rpc(body: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON-RPC request inside a message of OpenEnv's own WebSocket, or an empty object."""
    data = body.get("data") if body.get("type") == "mcp" else None
    return data if isinstance(data, dict) else {}


def _error_message(path: str, error: MalformedJsonError) -> str:
    text = f"{error.code}: {error}"
    if path == MCP_PATH:
        return orjson.dumps(JsonRpcRequestError({}, JsonRpcErrorCode.PARSE_ERROR, text).reply).decode()
    return orjson.dumps({"type": "error", "data": {"message": text, "code": WSErrorCode.INVALID_JSON}}).decode()


def body_error_response(path: str, body: bytes, error: MalformedJsonError) -> Response:
    """Return the response to an invalid body, in the protocol of the path."""
    headers = {PROBLEM_HEADER: error.code} | ({"Connection": "close"} if error.code in _UNREAD else {})
    text, status = f"{error.code}: {error}", _STATUS.get(error.code, _UNPROCESSABLE)
    if path == MCP_PATH:
        return JSONResponse(JsonRpcRequestError({}, JsonRpcErrorCode.PARSE_ERROR, text).reply, headers=headers)
    if is_mcp_path(path):
        reply = JsonRpcRequestError(parse_leniently(body), JsonRpcErrorCode.PARSE_ERROR, text).reply
        return JSONResponse(reply, status if reply["id"] is None else _OK, headers)
    problem = ProblemBody(title="Invalid request body", status=status, code=error.code, detail=str(error))
    if accepts_form(path):
        return problem_body_page(problem, headers)
    return problem_response_of(problem, headers)


async def read_body(receive: Receive) -> bytes | None:
    """Return the body, None if the client disconnects. Raises MalformedJsonError if it is too large or too slow."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_DEADLINE_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                body += message.get("body", b"")
                if len(body) > MAX_BODY_BYTES:
                    raise MalformedJsonError("body-too-large", f"The body is larger than {MAX_BODY_BYTES} bytes.")
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise MalformedJsonError("body-too-slow", f"The body took longer than {BODY_DEADLINE_S:g} s.") from None


def _replay(body: bytes, receive: Receive) -> Receive:
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return left.pop() if left else await receive()

    return replayed
