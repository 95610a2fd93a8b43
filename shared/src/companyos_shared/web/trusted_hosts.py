"""Protection against DNS rebinding and cross-site requests by checks of Host, Origin and Sec-Fetch-Site."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_shared.web.problems import send_problem
from companyos_shared.wire.problem import ProblemBody

ANY = "*"

UNKNOWN_HOST: Final = ProblemBody(title="Host not allowed", status=400, code="unknown-host")
FOREIGN_ORIGIN: Final = ProblemBody(title="Cross-site request not allowed", status=403, code="foreign-origin")

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
_DEFAULT_PORTS = frozenset({"80", "443"})
_CACHE_SIZE = 256
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OTHER_SITES = frozenset({"cross-site", "same-site"})
"""Rejected values of Sec-Fetch-Site. `same-site` includes other origins, such as another port of the host."""

_PRIVATE_SUFFIXES = (".localhost", ".local", ".internal", ".test", ".home.arpa")

_Authority = tuple[str, str]
"""A lower-case host name and a port, which is empty for the default port."""


class TrustedHostsMiddleware:
    """ASGI middleware that checks Host, and the origin of writes and WebSockets.

    With `names`, only these hosts are allowed: exact names, `*.example.org`, or `*` for all. Without `names`, IP
    addresses, names without a dot, and names below `.local`, `.internal` and similar are allowed: they are used on one
    machine, in container networks and by probes, and public DNS cannot map them to this machine. With `any_name`, for
    apps that require a token, all names are allowed. `own` is an additional name.

    Browsers report the page that makes a request in `Origin` and `Sec-Fetch-Site`. Pages of other hosts are rejected
    unless their host is in `names`. Other clients send neither header. No response has CORS headers.

    `code_header` is the name of a header for the code of an error.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        names: Sequence[str],
        any_name: bool = False,
        own: str | None = None,
        code_header: str | None = None,
    ) -> None:
        self._app = app
        self._own = own.lower() if own else None
        self._names = tuple(name.lower() for name in names)
        self._any_name = any_name
        self._code_header = code_header

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        problem = self._check(scope) if scope["type"] in ("http", "websocket") else None
        if problem is None:
            await self._app(scope, receive, send)
        else:
            headers = {self._code_header: problem.code} if self._code_header else None
            await send_problem(problem, scope, receive, send, headers=headers)

    def _check(self, scope: Scope) -> ProblemBody | None:
        hosts = _values(scope, b"host")
        host = _authority(hosts[0]) if len(hosts) == 1 else None
        if not self._is_allowed(host) and (hosts or self._names):
            return UNKNOWN_HOST
        if scope.get("method") not in _READING and not self._may_change(scope, host):
            return FOREIGN_ORIGIN
        return None

    def _may_change(self, scope: Scope, host: _Authority | None) -> bool:
        """Return whether the page that sent a request, if any, may write."""
        origin = next(iter(_values(scope, b"origin")), None)
        page = None if origin is None else _authority(origin.rpartition("//")[2])
        if page is not None and self._is_named(page):
            return True
        if not _OTHER_SITES.isdisjoint(_values(scope, b"sec-fetch-site")):
            return False
        return origin is None or (page is not None and page == host)

    def _is_allowed(self, host: _Authority | None) -> bool:
        if host is None:
            return ANY in self._names
        if host[0] == self._own or self._is_named(host):
            return True
        return not self._names and (self._any_name or _is_private(host[0]))

    def _is_named(self, host: _Authority) -> bool:
        return any(
            known in (ANY, host[0]) or (known.startswith("*.") and host[0].endswith(known.removeprefix(ANY)))
            for known in self._names
        )


def parse_host_names(setting: str) -> tuple[str, ...]:
    """Parse a comma-separated list of host names."""
    return tuple(filter(None, (name.strip() for name in setting.split(","))))


def _values(scope: Scope, header: bytes) -> list[str]:
    return [value.decode("latin-1") for name, value in scope["headers"] if name == header]


@lru_cache(_CACHE_SIZE)
def _authority(text: str) -> _Authority | None:
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        return None
    port = match[2] or ""
    return match[1].lower().removesuffix("."), "" if port in _DEFAULT_PORTS else port


@lru_cache(_CACHE_SIZE)
def _is_private(name: str) -> bool:
    """Return whether public DNS cannot resolve this name."""
    if "." not in name or name.endswith(_PRIVATE_SUFFIXES):
        return True
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
