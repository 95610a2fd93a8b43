"""The router: an ASGI app that passes each HTTP request on to the worker it belongs to.

A request that names an episode, a snapshot or a token is tried with one worker after the other until one knows it; the
answer of a worker that does not know it says that nothing was done. The router remembers where it found what. Requests
that name nothing go to the worker with the fewest WebSockets, those for the console to the one that its cookie names.
"""

from __future__ import annotations

import asyncio
import json
import os
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

import aiohttp
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from yarl import URL

from companyos_gateway.engine.errors import ServicesUnavailableError
from companyos_gateway.middleware.body_limit import body_error_response, read_body
from companyos_gateway.middleware.error_responses import problem_response
from companyos_gateway.page_paths import is_console_path
from companyos_gateway.workers.addressing import (
    client_headers,
    creates_episode,
    is_unknown,
    keys_in_answer,
    named_key,
)
from companyos_gateway.workers.metrics import merge_metrics
from companyos_gateway.workers.pool import Worker, WorkerPool
from companyos_gateway.workers.websocket_relay import POOL_STATE
from companyos_shared.serving import DRAIN_STATE
from companyos_shared.wire.strict_json import MalformedJsonError

WORKER_COOKIE = "companyos_worker"
"""The cookie of a browser that has chosen a worker in the console."""

MAX_KEYS = 100_000
"""Ids and tokens whose worker is remembered; the least recently used leave."""

_LISTS = frozenset({"/v1/episodes", "/v1/snapshots", "/v1/quarantine"})
_PROBES = frozenset({"/readyz", "/health", "/livez"})
_SMALL_BYTES = 64 * 1024
_PROBE_TIMEOUT_S = 5.0
_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"content-length",
        b"x-forwarded-for",
        b"x-forwarded-proto",
    }
)
_AUTOMATIC = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_OK, _UNAVAILABLE = 200, 503

_Headers = list[tuple[bytes, bytes]]


class Router:
    """The app in front of the workers; its lifespan starts and stops them."""

    def __init__(self, pool: WorkerPool, trainer_token: str | None) -> None:
        self._pool = pool
        self._trainer_token = trainer_token
        self._sessions: dict[int, aiohttp.ClientSession] = {}
        self._numbers: OrderedDict[str, int] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or the lifespan."""
        if scope["type"] == "lifespan":
            await self._serve_lifespan(scope, receive, send)
            return
        path = scope["path"]
        if path in _PROBES:
            response: Response = await self._probe(path)
        elif scope["method"] == "GET" and path == "/metrics":
            response = await self._metrics(scope)
        elif scope["method"] == "GET" and path in _LISTS:
            response = await self._list(scope)
        else:
            response = await self._route(scope, receive)
        await response(scope, receive, send)

    async def _route(self, scope: Scope, receive: Receive) -> Response:
        """Return the answer of the worker that a request belongs to."""
        try:
            body = await read_body(receive)
        except MalformedJsonError as error:
            return body_error_response(scope["path"], b"", error)
        if body is None:
            return Response()
        method, path, query = scope["method"], scope["path"], scope["query_string"]
        key = named_key(method, path, query, scope["headers"], body, self._trainer_token)
        workers, chosen = self._candidates(key), None
        if key is None and is_console_path(path):
            workers, chosen = self._console_worker(scope)
        elif key is not None and creates_episode(method, path) and key not in self._numbers:
            workers = await self._with_owner_first(workers, key, scope)
        response = await self._first_that_knows(workers, scope, body, key)
        if chosen is not None:
            response.set_cookie(WORKER_COOKIE, str(chosen), path="/console", httponly=True, samesite="strict")
        return response

    async def _first_that_knows(self, workers: list[Worker], scope: Scope, body: bytes, key: str | None) -> Response:
        """Return the answer of the first worker that does not call the key unknown; 503 if one cannot be reached."""
        unknown: Response | None = None
        is_complete = True
        for worker in workers:
            try:
                answer, content = await self._send(worker, scope, body)
            except aiohttp.ClientConnectorError:
                is_complete = False
                continue
            except aiohttp.ClientError:
                return problem_response(ServicesUnavailableError(f"Worker {worker.number} ended during the request."))
            response = _relayed(answer, content)
            if key is None:
                return response
            if content is None or not is_unknown(answer.status, content):
                self._remember(worker, [key, *(() if content is None else keys_in_answer(content))])
                return response
            unknown = unknown or response
        if unknown is not None and is_complete:
            return unknown
        return problem_response(ServicesUnavailableError("A worker cannot be reached."))

    async def _send(self, worker: Worker, scope: Scope, body: bytes) -> tuple[aiohttp.ClientResponse, bytes | None]:
        """Send a request to a worker. Return the response, and its body if it is small; raises aiohttp.ClientError."""
        client = scope.get("client")
        headers = [(name, value) for name, value in scope["headers"] if name not in _HOP_BY_HOP]
        headers += client_headers(client[0] if client else "", scope["headers"], os.environ)
        query = scope["query_string"].decode("latin-1")
        target = scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
        response = await self._sessions[worker.number].request(
            scope["method"],
            URL(f"http://worker{target}", encoded=True),
            data=body or None,
            headers=[(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers],
            allow_redirects=False,
        )
        is_small = response.content_length is not None and response.content_length <= _SMALL_BYTES
        return response, await response.read() if is_small else None

    def _candidates(self, key: str | None) -> list[Worker]:
        """Return the workers in the order in which they are tried."""
        if key is None:
            return self._pool.by_load()
        workers = self._pool.workers
        number = self._numbers.get(key, 1 + zlib.crc32(key.encode()) % len(workers))
        return sorted(workers, key=lambda worker: worker.number != number)

    async def _with_owner_first(self, workers: list[Worker], episode_id: str, scope: Scope) -> list[Worker]:
        """Return the workers, first the one at which an episode of this id lives."""
        path = f"/v1/episodes/{episode_id}"
        reading = {**scope, "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
        answers = await self._ask_all(reading)
        return sorted(workers, key=lambda worker: (found := answers[worker.number]) is None or found[0] != _OK)

    def _remember(self, worker: Worker, keys: Iterable[str]) -> None:
        for key in keys:
            self._numbers[key] = worker.number
            self._numbers.move_to_end(key)
        while len(self._numbers) > MAX_KEYS:
            self._numbers.popitem(last=False)

    def _console_worker(self, scope: Scope) -> tuple[list[Worker], int | None]:
        """Return the worker that a browser has chosen, and its number if it is chosen by this request."""
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("worker", [""])[0]
        kept = _cookie(scope["headers"], WORKER_COOKIE)
        number = next((int(text) for text in (asked, kept) if text.isdecimal()), 1)
        found = [worker for worker in self._pool.workers if worker.number == number] or self._pool.workers[:1]
        return found, found[0].number if asked else None

    async def _ask_all(self, scope: Scope) -> dict[int, tuple[int, bytes, aiohttp.ClientResponse] | None]:
        """Send a reading request to every worker. Return status, body and response by number, None for no answer."""

        async def ask(worker: Worker) -> tuple[int, bytes, aiohttp.ClientResponse] | None:
            with suppress(aiohttp.ClientError, TimeoutError):
                async with asyncio.timeout(_PROBE_TIMEOUT_S):
                    response, content = await self._send(worker, scope, b"")
                    return response.status, await response.read() if content is None else content, response
            return None

        workers = self._pool.workers
        answers = await asyncio.gather(*(ask(worker) for worker in workers))
        return {worker.number: answer for worker, answer in zip(workers, answers, strict=True)}

    async def _list(self, scope: Scope) -> Response:
        """Return the lists of all workers as one."""
        answers = await self._ask_all(scope)
        found = list(answers.values())
        for answer in found:
            if answer is None:
                return problem_response(ServicesUnavailableError("A worker cannot be reached."))
            if answer[0] != _OK:
                return _relayed(answer[2], answer[1])
        return JSONResponse([item for answer in found if answer is not None for item in json.loads(answer[1])])

    async def _metrics(self, scope: Scope) -> Response:
        answers = await self._ask_all(scope)
        for answer in answers.values():
            if answer is not None and answer[0] != _OK:
                return _relayed(answer[2], answer[1])
        pages = {number: None if answer is None else answer[1].decode() for number, answer in answers.items()}
        media_type = next((answer[2].headers["Content-Type"] for answer in answers.values() if answer), "text/plain")
        return Response(merge_metrics(pages, self._pool.workers), media_type=media_type)

    async def _probe(self, path: str) -> Response:
        """Return the readiness of all workers: ready only if each is."""
        scope = {"method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": []}
        answers = await self._ask_all(scope)
        if path == "/livez":
            return JSONResponse({"status": "alive"})
        reports = {number: None if answer is None else json.loads(answer[1]) for number, answer in answers.items()}
        reasons = [
            f"worker {number}: {reason}"
            for number, report in reports.items()
            for reason in (["it does not answer"] if report is None else report["reasons"])
        ]
        ready, not_ready = ("ready", "not ready") if path == "/readyz" else ("healthy", "unhealthy")
        items = sum(report["quarantine"].get("items", 0) for report in reports.values() if report)
        return JSONResponse(
            {
                "status": not_ready if reasons else ready,
                "workers": {str(number): report for number, report in reports.items()},
                "quarantine": {"items": items},
                "reasons": reasons,
            },
            _UNAVAILABLE if reasons else _OK,
        )

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        async with self._pool:
            for worker in self._pool.workers:
                self._sessions[worker.number] = aiohttp.ClientSession(
                    connector=aiohttp.UnixConnector(str(worker.socket), limit=0, keepalive_timeout=60),
                    cookie_jar=aiohttp.DummyCookieJar(),
                    timeout=aiohttp.ClientTimeout(total=None),
                    auto_decompress=False,
                    skip_auto_headers=_AUTOMATIC,
                )
            try:
                yield
            finally:
                for session in self._sessions.values():
                    await session.close()

    async def _serve_lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        async with self._running():
            scope["state"].update({POOL_STATE: self._pool, DRAIN_STATE: self._pool.stop})
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def _relayed(answer: aiohttp.ClientResponse, content: bytes | None) -> Response:
    """Return a worker's answer for the client; what is not small is passed on as it comes."""
    response: Response
    if content is None:
        response = StreamingResponse(answer.content.iter_any(), answer.status)
    else:
        response = Response(content, answer.status)
    headers: _Headers = [
        (name.lower(), value)
        for name, value in answer.raw_headers
        if name.lower() not in _HOP_BY_HOP or (name.lower() == b"content-length" and content is None)
    ]
    if content is not None:
        headers.append((b"content-length", str(len(content)).encode()))
    response.raw_headers = headers
    return response


def _cookie(headers: Iterable[tuple[bytes, bytes]], name: str) -> str:
    """Return the value of a cookie, empty without one."""
    for key, value in headers:
        if key == b"cookie":
            with suppress(CookieError):
                if (found := SimpleCookie(value.decode("latin-1")).get(name)) is not None:
                    return found.value
    return ""
