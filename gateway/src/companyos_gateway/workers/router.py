"""The router: an ASGI app that passes each HTTP request to a worker.

A request that names an episode, a snapshot or a token goes to one worker after the other until one knows the name. A
worker that does not know it has done nothing. The router caches the worker of each name. Requests without a name go to
the worker with the fewest WebSockets, and requests of the console to the worker that its cookie selects.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import parse_qs, quote

import aiohttp
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from yarl import URL

from companyos_gateway.engine.errors import (
    EpisodeExistsError,
    ForeignSnapshotError,
    GatewayError,
    ServicesUnavailableError,
    UnansweredError,
    UnknownSnapshotError,
)
from companyos_gateway.middleware.body_limit import body_error_response, read_body
from companyos_gateway.middleware.error_responses import PROBLEM_HEADER, problem_response
from companyos_gateway.page_paths import is_console_path
from companyos_gateway.workers.addressing import (
    Name,
    NameKind,
    creates_episode,
    find_name,
    is_unknown,
    names_in_answer,
    new_episode_id,
    restored_snapshot,
)
from companyos_gateway.workers.metrics import merge_metrics
from companyos_gateway.workers.pool import Worker, WorkerPool
from companyos_gateway.workers.websocket_relay import POOL_STATE
from companyos_shared.serving import DRAIN_STATE
from companyos_shared.wire.strict_json import MalformedJsonError

WORKER_COOKIE = "companyos_worker"
"""Cookie with the number of the worker that a browser has selected in the console."""

_LISTS = frozenset({"/v1/episodes", "/v1/snapshots", "/v1/quarantine"})
_READINESS = frozenset({"/readyz", "/health"})
_SMALL_BYTES = 64 * 1024
_PROBE_TIMEOUT_S = 5.0
_HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"}
)
_NOT_FORWARDED = _HOP_BY_HOP | {b"content-length", b"x-forwarded-for", b"x-forwarded-proto"}
_NOT_RETURNED = _HOP_BY_HOP | {b"date", b"server"}
_AUTOMATIC = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_MAX_HEADER_BYTES = 128 * 1024
_UNREACHABLE = "A worker cannot be reached."
_OK, _UNAUTHORIZED, _NOT_FOUND, _GONE, _UNAVAILABLE = 200, 401, 404, 410, 503

_Answer = tuple[int, bytes, aiohttp.ClientResponse]
"""Status, body and response of a worker."""


class Router:
    """The app in front of the workers; its lifespan starts and stops them."""

    def __init__(self, pool: WorkerPool, trainer_token: str | None) -> None:
        self._pool = pool
        self._trainer_token = trainer_token
        self._sessions: dict[int, aiohttp.ClientSession] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or the lifespan."""
        if scope["type"] == "lifespan":
            await self._serve_lifespan(scope, receive, send)
            return
        path, is_read = scope["path"], scope["method"] == "GET"
        if is_read and path == "/livez":
            response: Response = JSONResponse({"status": "alive"})
        elif is_read and path in _READINESS:
            response = await self._readiness(path)
        elif is_read and path == "/metrics":
            response = await self._metrics(scope)
        elif is_read and path in _LISTS:
            response = await self._list(scope)
        else:
            response = await self._route(scope, receive)
        await response(scope, receive, send)

    async def _route(self, scope: Scope, receive: Receive) -> Response:
        """Return the response of the worker that a request belongs to."""
        method, path = scope["method"], scope["path"]
        try:
            body = await read_body(receive)
        except MalformedJsonError as error:
            return body_error_response(path, b"", error)
        if body is None:
            return Response()
        name = find_name(method, path, scope["query_string"], scope["headers"], body, self._trainer_token)
        workers = self._pool.by_load() if name is None else self._pool.by_name(name.value)
        selected = None
        if is_console_path(path) and (name is None or creates_episode(method, path)):
            workers, selected = self._console_workers(scope)
        try:
            if name is not None and (episode_id := new_episode_id(method, path, body)) is not None:
                workers = await self._workers_for_new_episode(episode_id, name, workers, scope)
            response = await self._first_that_knows(workers, scope, body, name)
            if response.headers.get(PROBLEM_HEADER) == UnknownSnapshotError.code:
                await self._check_is_unknown(restored_snapshot(method, path, body), scope)
        except GatewayError as problem:
            return problem_response(problem)
        if selected is not None:
            response.set_cookie(WORKER_COOKIE, str(selected), path="/console", httponly=True, samesite="strict")
        return response

    async def _first_that_knows(self, workers: list[Worker], scope: Scope, body: bytes, name: Name | None) -> Response:
        """Return the response of the first worker that knows the name.

        If none does, a 404 response takes precedence over a 401, as with a single gateway. If a worker cannot be
        reached, the response is 503, because that worker may know the name.
        """
        unknown: list[Response] = []
        for worker in workers:
            try:
                answer, content = await self._send(worker, scope, body)
            except aiohttp.ClientConnectorError:
                continue
            except aiohttp.ClientError:
                return problem_response(UnansweredError(f"Worker {worker.number} ended during the request."))
            response = _relayed(answer, content)
            problem = answer.headers.get(PROBLEM_HEADER)
            if name is not None and content is not None and is_unknown(name, problem, content):
                unknown.append(response)
                continue
            if answer.ok:
                given = () if content is None else names_in_answer(scope["method"], scope["path"], content)
                self._pool.remember(worker, given if name is None else [name.value, *given])
            return response
        if name is None or len(unknown) < len(workers):
            return problem_response(ServicesUnavailableError(_UNREACHABLE))
        return min(unknown, key=lambda response: response.status_code != _NOT_FOUND)

    async def _send(self, worker: Worker, scope: Scope, body: bytes) -> tuple[aiohttp.ClientResponse, bytes | None]:
        """Send a request to a worker. Return the response, and its body if it is small; raises aiohttp.ClientError."""
        client = scope.get("client")
        headers = [(name, value) for name, value in scope["headers"] if name not in _NOT_FORWARDED]
        headers.append((b"x-forwarded-for", client[0].encode() if client else b""))
        headers.append((b"x-forwarded-proto", scope["scheme"].encode()))
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

    async def _workers_for_new_episode(
        self, episode_id: str, name: Name, workers: list[Worker], scope: Scope
    ) -> list[Worker]:
        """Return the workers that are tried for a new episode with this id: only the one that has such an episode.

        Raises EpisodeExistsError (409) if another worker has the snapshot that is forked, and ServicesUnavailableError
        (503) if a worker does not respond.
        """
        owners = await self._that_know(f"/v1/episodes/{quote(episode_id, safe='')}", scope)
        if name.kind is NameKind.EPISODE:
            return (owners or workers)[:1]
        if owners and name.kind is NameKind.SNAPSHOT:
            keepers = await self._that_know(_snapshot_path(name.value), scope)
            if keepers and owners[0] not in keepers:
                raise EpisodeExistsError(f"The episode {episode_id!r} is on another worker than the snapshot.")
        return owners[:1] or workers

    async def _check_is_unknown(self, snapshot: str | None, scope: Scope) -> None:
        """Raise ForeignSnapshotError (409) if a worker has the snapshot that the worker of an episode does not know.

        Raises ServicesUnavailableError (503) if a worker does not respond.
        """
        if snapshot is not None and await self._that_know(_snapshot_path(snapshot), scope):
            raise ForeignSnapshotError

    async def _that_know(self, path: str, scope: Scope) -> list[Worker]:
        """Return the workers that know what is at a path; raises ServicesUnavailableError if one does not respond."""
        answers = await self._ask_all({**scope, "method": "GET", "raw_path": path.encode(), "query_string": b""})
        statuses = {number: answer[0] for number, answer in answers.items() if answer is not None}
        if len(statuses) < len(answers):
            raise ServicesUnavailableError(_UNREACHABLE)
        return [worker for worker in self._pool.workers if statuses[worker.number] in (_OK, _GONE)]

    def _console_workers(self, scope: Scope) -> tuple[list[Worker], int | None]:
        """Return the worker that a browser has selected, and its number if this request selects it."""
        query = parse_qs(scope["query_string"].decode("latin-1")).get("worker", [""])[0]
        cookie = HTTPConnection(scope).cookies.get(WORKER_COOKIE, "")
        by_number = {str(worker.number): worker for worker in self._pool.workers}
        worker = by_number.get(query) or by_number.get(cookie) or self._pool.workers[0]
        return [worker], worker.number if query in by_number else None

    async def _ask_all(self, scope: Scope) -> dict[int, _Answer | None]:
        """Send a GET request to every worker. Return status, body and response by number, None without a response."""

        async def ask(worker: Worker) -> _Answer | None:
            with suppress(aiohttp.ClientError, TimeoutError):
                async with asyncio.timeout(_PROBE_TIMEOUT_S):
                    response, content = await self._send(worker, scope, b"")
                    return response.status, await response.read() if content is None else content, response
            return None

        workers = self._pool.workers
        answers = await asyncio.gather(*(ask(worker) for worker in workers))
        return {worker.number: answer for worker, answer in zip(workers, answers, strict=True)}

    async def _list(self, scope: Scope) -> Response:
        """Return the concatenated lists of all workers."""
        answers = await self._ask_all(scope)
        found = [answer for answer in answers.values() if answer is not None]
        if len(found) < len(answers):
            return problem_response(ServicesUnavailableError(_UNREACHABLE))
        if (refusal := _refusal(found)) is not None:
            return refusal
        return JSONResponse([item for answer in found for item in json.loads(answer[1])])

    async def _metrics(self, scope: Scope) -> Response:
        answers = await self._ask_all(scope)
        if (refusal := _refusal([answer for answer in answers.values() if answer is not None])) is not None:
            return refusal
        pages = {number: None if answer is None else answer[1].decode() for number, answer in answers.items()}
        media_type = next((answer[2].headers["Content-Type"] for answer in answers.values() if answer), "text/plain")
        return Response(merge_metrics(pages, self._pool.workers), media_type=media_type)

    async def _readiness(self, path: str) -> Response:
        """Return the readiness of all workers: ready if each is."""
        scope = {"method": "GET", "raw_path": path.encode(), "query_string": b"", "headers": [], "scheme": "http"}
        answers = await self._ask_all(scope)
        reports = {number: None if answer is None else json.loads(answer[1]) for number, answer in answers.items()}
        reasons = [
            f"worker {number}: {reason}"
            for number, report in reports.items()
            for reason in (["it does not answer"] if report is None else report["reasons"])
        ]
        ready, not_ready = ("ready", "not ready") if path == "/readyz" else ("healthy", "unhealthy")
        services = {name for report in reports.values() if report for name in report["services"]}
        items = sum(report["quarantine"].get("items", 0) for report in reports.values() if report)
        return JSONResponse(
            {
                "status": not_ready if reasons else ready,
                "services": {name: _merged_status(name, reports.values()) for name in sorted(services)},
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
                    max_line_size=_MAX_HEADER_BYTES,
                    max_field_size=_MAX_HEADER_BYTES,
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


class _RelayedStream(StreamingResponse):
    """A response that is streamed to the client; its end closes the connection to the worker."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        super().__init__(answer.content.iter_any(), answer.status)
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._answer.close()


def _relayed(answer: aiohttp.ClientResponse, content: bytes | None) -> Response:
    """Return a worker's response for the client."""
    response = _RelayedStream(answer) if content is None else Response(content, answer.status)
    response.raw_headers = [
        (name.lower(), value) for name, value in answer.raw_headers if name.lower() not in _NOT_RETURNED
    ]
    return response


def _snapshot_path(snapshot: str) -> str:
    return f"/v1/snapshots/{quote(snapshot, safe='')}"


def _merged_status(service: str, reports: Iterable[dict[str, Any] | None]) -> str:
    """Return the status of a service in the reports of all workers; None is a worker that does not respond."""
    is_ready = all(report is not None and report["services"].get(service) == "ready" for report in reports)
    return "ready" if is_ready else "not ready"


def _refusal(answers: Iterable[_Answer]) -> Response | None:
    """Return a response whose status is not 200, None if there is none.

    An episode token is known to one worker only, so other statuses take precedence over 401.
    """
    refusals = [answer for answer in answers if answer[0] != _OK]
    if not refusals:
        return None
    _, body, response = min(refusals, key=lambda answer: answer[0] == _UNAUTHORIZED)
    return _relayed(response, body)
