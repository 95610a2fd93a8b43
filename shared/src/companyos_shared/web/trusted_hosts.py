"""Protection against DNS rebinding and cross-site requests: the host names of an app, and the pages that may use it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_shared.web.problems import refuse
from companyos_shared.wire.problem import ProblemBody

ANY = "*"

UNKNOWN_HOST: Final = ProblemBody(
    type="about:blank", title="The server does not answer to this name", status=400, code="unknown-host"
)
FOREIGN_ORIGIN: Final = ProblemBody(
    type="about:blank", title="The request comes from the page of another site", status=403, code="foreign-origin"
)

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
_DEFAULT_PORTS = frozenset({"80", "443"})
_KEPT = 256
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OTHER_SITES = frozenset({"cross-site", "same-site"})
"""Values of Sec-Fetch-Site; pages of one site have different origins, such as two ports of one host."""

_NO_PUBLIC_NAMES = (".localhost", ".local", ".internal", ".test", ".home.arpa")

_Authority = tuple[str, str]
"""A name in lower case and a port, which is empty where it is the default one."""


class TrustedHosts:
    """ASGI middleware that checks Host, and where a request changes something or opens a socket, the page behind it.

    With `names` the app answers to these alone: exact names, `*.example.org`, or `*` for every name. Without them it
    answers to addresses, to names without a dot and to names below `.local`, `.internal` and the like. These are how an
    app is reached on one machine, in a network of containers and by probes, and no public DNS can point one of them at
    this machine. With `any_name`, for an app whose callers have to know a token, it answers to every name. `own` is a
    further name.

    A browser states by `Origin` and `Sec-Fetch-Site` which page makes a request. A page of another host than the one
    that is asked is refused, unless its host is among `names`. Other clients send neither header. No answer carries a
    CORS header.
    """

    def __init__(self, app: ASGIApp, *, names: Sequence[str], any_name: bool = False, own: str | None = None) -> None:
        self._app = app
        self._own = own.lower() if own else None
        self._names = tuple(name.lower() for name in names)
        self._any_name = any_name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        problem = self._problem(scope) if scope["type"] in ("http", "websocket") else None
        if problem is None:
            await self._app(scope, receive, send)
        else:
            await refuse(problem, scope, receive, send)

    def _problem(self, scope: Scope) -> ProblemBody | None:
        asked = _values(scope, b"host")
        host = _authority(asked[0]) if len(asked) == 1 else None
        if not self._answers_to(host) and (asked or self._names):
            return UNKNOWN_HOST
        if scope.get("method") not in _READING and not self._may_change(scope, host):
            return FOREIGN_ORIGIN
        return None

    def _may_change(self, scope: Scope, host: _Authority | None) -> bool:
        """Say whether the page behind a request, if there is one, may change something."""
        origin = next(iter(_values(scope, b"origin")), None)
        page = None if origin is None else _authority(origin.rpartition("//")[2])
        if page is not None and self._is_named(page):
            return True
        if not _OTHER_SITES.isdisjoint(_values(scope, b"sec-fetch-site")):
            return False
        return origin is None or (page is not None and page == host)

    def _answers_to(self, host: _Authority | None) -> bool:
        if host is None:
            return ANY in self._names
        if host[0] == self._own or self._is_named(host):
            return True
        return not self._names and (self._any_name or _is_out_of_reach(host[0]))

    def _is_named(self, host: _Authority) -> bool:
        return any(
            known in (ANY, host[0]) or (known.startswith("*.") and host[0].endswith(known.removeprefix(ANY)))
            for known in self._names
        )


def names_of(setting: str) -> tuple[str, ...]:
    """Return the names of a setting, which separates them by commas."""
    return tuple(filter(None, (name.strip() for name in setting.split(","))))


def _values(scope: Scope, wanted: bytes) -> list[str]:
    return [value.decode("latin-1") for name, value in scope["headers"] if name == wanted]


@lru_cache(_KEPT)
def _authority(text: str) -> _Authority | None:
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        return None
    port = found[2] or ""
    return found[1].lower().removesuffix("."), "" if port in _DEFAULT_PORTS else port


@lru_cache(_KEPT)
def _is_out_of_reach(name: str) -> bool:
    """Say whether no public DNS can hand out an address under this name."""
    if "." not in name or name.endswith(_NO_PUBLIC_NAMES):
        return True
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
