"""The routes of an app, with requests that may be slow for each."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from fastapi import FastAPI
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message

from tests.complexity.inputs import (
    BODIES,
    FEW_BODIES,
    FEW_MEMBERS,
    FEW_QUERIES,
    FEW_TEXTS,
    FORMS,
    HEADERS,
    MEMBERS,
    QUERIES,
    TEXTS,
    Input,
    headers,
    member,
)

_PLACE = re.compile(r"\{(\w+)(?::path)?\}")
_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_JSON: Header = (b"content-type", b"application/json")
_FORM: Header = (b"content-type", b"application/x-www-form-urlencoded")
READS_HEADERS = frozenset({"/", "/step", "/v1/mcp", "/v1/demonstrations"})
"""Routes on which every text is sent in every header; other routes get a few texts, as they share the code."""
READS_BODIES = frozenset({"/reset", "/step", "/v1/mcp", "/tickets", "/data-issues", "/approvals"})
"""Routes that get every JSON body; other routes get a few, as they share the parser."""
_MULTIPART: Header = (b"content-type", b"multipart/form-data; boundary=a")

Request = Callable[[int], Awaitable[int]]


@dataclass(frozen=True)
class Target:
    """A route as a target of requests: its path with placeholders, its query parameters and its body members."""

    app: FastAPI
    method: str
    path: str
    queries: Sequence[str] = ()
    members: Sequence[str] = ()
    known: dict[str, str] = field(default_factory=dict)
    """Values of path parameters that are not under test."""

    def at(self, **long: str) -> bytes:
        """Return the path with these parameters; the others name existing objects."""
        filled = _PLACE.sub(lambda place: long.get(place[1]) or self.known.get(place[1], "none"), self.path)
        return quote(filled, safe="/%").encode()

    def requests(self, *, full: bool) -> Iterator[tuple[str, Request]]:
        """Yield the requests by name; without `full`, only a few inputs for each place."""
        texts = {name: TEXTS[name] for name in (TEXTS if full else FEW_TEXTS)}
        queries = {name: QUERIES[name] for name in (QUERIES if full else FEW_QUERIES)}
        for place in _PLACE.findall(self.path):
            yield from ((f"{{{place}}} of {name}", self._with_path(place, made)) for name, made in texts.items())
        yield from ((f"query of {name}", self._with(query=made)) for name, made in queries.items())
        for known in self.queries:
            yield from (
                (f"{known}= of {name}", self._with(query=_with_prefix(f"{known}=".encode(), made)))
                for name, made in texts.items()
            )
        yield "many headers", self._with_headers(headers)
        for header in HEADERS if full or self.path in READS_HEADERS else ():
            texts = TEXTS if self.path in READS_HEADERS else {name: TEXTS[name] for name in FEW_TEXTS}
            yield from ((f"{header}: {name}", self._with_header(header.encode(), made)) for name, made in texts.items())
        if self.method in _WITH_BODY:
            yield from self._bodies(full=full)

    def _bodies(self, *, full: bool) -> Iterator[tuple[str, Request]]:
        if full or not self.accepts_form:
            for name in BODIES if full or self.path in READS_BODIES else FEW_BODIES:
                yield f"JSON of {name}", self._with(_JSON, body=BODIES[name])
        if full or self.accepts_form:
            yield from ((f"form of {name}", self._with(_FORM, body=made)) for name, made in FORMS.items())
            yield "multipart", self._with(_MULTIPART, body=FORMS["multipart"])
        for name in self.members:
            for kind in MEMBERS if full else FEW_MEMBERS:
                yield f"{name} of {kind}", self._with(_JSON, body=member(name, kind))

    @property
    def accepts_form(self) -> bool:
        """Return whether the route accepts page forms."""
        return self.method == "POST" and "/-/" in self.path

    @property
    def _small_body(self) -> bytes:
        """Return a minimal body for requests that vary another part. A reset has a seed, so that its task is cached."""
        if "seed" in self.members:
            return b'{"seed": 1}'
        return b"{}" if self.method in _WITH_BODY and not self.accepts_form else b""

    def _with(self, *sent: Header, query: Input | None = None, body: Input | None = None) -> Request:
        return lambda size: send_request(
            self.app,
            self.method,
            self.at(),
            query=query(size) if query else b"",
            headers=sent,
            body=body(size) if body else self._small_body,
        )

    def _with_path(self, place: str, made: Input) -> Request:
        return lambda size: send_request(
            self.app, self.method, self.at(**{place: made(size).decode("utf-8", "ignore")})
        )

    def _with_header(self, name: bytes, made: Input) -> Request:
        return lambda size: send_request(
            self.app, self.method, self.at(), headers=[(name, made(size))], body=self._small_body
        )

    def _with_headers(self, made: Callable[[int], Sequence[Header]]) -> Request:
        return lambda size: send_request(self.app, self.method, self.at(), headers=made(size))


def targets_of(app: FastAPI, known: dict[str, str]) -> Iterator[Target]:
    """Yield a target for each route of an app, and one for each mounted folder."""
    members = _members(app.openapi())
    for route in app.router.routes:
        if isinstance(route, Mount):
            yield Target(app, "GET", f"{route.path}/{{path}}")
        elif isinstance(route, Route):
            queries = []
            if isinstance(route, APIRoute):
                queries = [one.alias for one in get_flat_params(route.dependant) if isinstance(one.field_info, Query)]
            for method in sorted((route.methods or set()) - {"HEAD"}):
                yield Target(app, method, route.path, queries, members.get((method, route.path), ()), known)


def _members(document: dict[str, Any]) -> dict[tuple[str, str], Sequence[str]]:
    """Return the members of the JSON bodies that an OpenAPI document describes."""
    found: dict[tuple[str, str], Sequence[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            schema = content.get("schema", {})
            if "$ref" in schema:
                schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            found[method.upper(), path] = sorted(schema.get("properties", {}))
    return found


def _with_prefix(before: bytes, made: Input) -> Input:
    return lambda size: before + quote(made(size)).encode()


DEADLINE_S = 60.0

Header = tuple[bytes, bytes]
HOST: Header = (b"host", b"localhost")


async def send_request(
    app: ASGIApp, method: str, path: bytes, *, query: bytes = b"", headers: Sequence[Header] = (), body: bytes = b""
) -> int:
    """Return the status of the response; disconnect from an endless stream once it has started."""
    coming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    began, statuses = asyncio.Event(), [0]

    async def receive() -> Message:
        if coming:
            return coming.pop()
        await began.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses[0] = message["status"]
        else:
            began.set()

    named = {name for name, _ in headers}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": path,
        "root_path": "",
        "query_string": query,
        "headers": [*headers, *([] if b"host" in named else [HOST])],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
        "state": {},
    }
    async with asyncio.timeout(DEADLINE_S):
        await app(scope, receive, send)
    return statuses[0]
