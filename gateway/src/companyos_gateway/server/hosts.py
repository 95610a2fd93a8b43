"""Which names the gateway answers to, and which web pages may speak to it: no browser is made a stranger's hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_gateway.episode.errors import GatewayProblem
from companyos_gateway.server.problems import refuse

ANY = "*"

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
_DEFAULT_PORTS = frozenset({"80", "443"})
_KEPT = 256
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_NO_PUBLIC_NAMES = (".localhost", ".local", ".internal", ".test", ".home.arpa")

_Authority = tuple[str, str]
"""A name in lower case and a port, which is empty where it is the default one."""


class UnknownHost(GatewayProblem):
    status, code, title = 400, "unknown-host", "The gateway does not answer to this name"


class ForeignOrigin(GatewayProblem):
    status, code, title = 403, "foreign-origin", "The request comes from the page of another site"


class Hosts:
    """ASGI middleware that checks Host, and Origin where a request changes something or opens a socket.

    With `names` it answers to these alone: exact names, `*.example.org`, or `*` for every name. Without them it depends
    on whether tokens are asked for. Where they are, every name will do: no page can guess the token. Where they are
    not, the gateway answers to addresses, to names without a dot and to names below `.local`, `.internal` and the like,
    and to no other: these are how it is reached on one machine, in a network of containers and by probes, and nobody's
    public DNS can point one of them at this machine. A gateway under a public name has to be told the name; `own` is
    what the place it runs in has told it.

    A browser says by Origin which page makes it ask. A page of another host than the one it asks is refused, unless its
    host is among `names`; what is no browser sends no Origin. No answer carries a CORS header.
    """

    def __init__(self, app: ASGIApp, *, names: Sequence[str], asks_for_tokens: bool, own: str | None = None) -> None:
        self._app = app
        self._own = own.lower() if own else None
        self._names = tuple(name.lower() for name in names)
        self._asks_for_tokens = asks_for_tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] in ("http", "websocket"):
            try:
                self._check(scope)
            except GatewayProblem as problem:
                await refuse(problem, scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        asked = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        host = _authority(asked[0]) if len(asked) == 1 else None
        if not self._answers_to(host) and (asked or self._names):
            raise UnknownHost
        origin = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"), None)
        if origin is not None and scope.get("method") not in _READING:
            page = _authority(origin.rpartition("//")[2])
            if page is None or not (page == host or self._is_named(page)):
                raise ForeignOrigin

    def _answers_to(self, host: _Authority | None) -> bool:
        if host is None:
            return ANY in self._names
        if host[0] == self._own or self._is_named(host):
            return True
        return not self._names and (self._asks_for_tokens or _is_out_of_reach(host[0]))

    def _is_named(self, host: _Authority) -> bool:
        return any(
            known in (ANY, host[0]) or (known.startswith("*.") and host[0].endswith(known.removeprefix(ANY)))
            for known in self._names
        )


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
