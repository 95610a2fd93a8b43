"""Bearer token authentication: the trainer token gives access to all routes, an episode token to that episode's tools.

Authentication depends only on the configuration, not on the address of the client: without a trainer token no route
requires a token, with it all routes except the public ones do. Routes that are not listed here require the trainer
token, so new routes are closed to agents.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256

from starlette.requests import HTTPConnection
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import EpisodeDoneError, GatewayError, UnknownEpisodeError
from companyos_gateway.engine.store import EpisodeStore
from companyos_gateway.engine.tokens import service_signature
from companyos_gateway.middleware.browser_sessions import BrowserSessions
from companyos_gateway.middleware.error_responses import problem_page, send_error
from companyos_gateway.middleware.json_rpc import MCP_PATHS
from companyos_gateway.page_paths import DESK_ROUTES, EPISODE_COOKIE, TRAINER_COOKIE, is_console_path, is_desk_path
from companyos_shared.pages import MOUNT
from companyos_shared.web.route_path import route_path

PUBLIC_ROUTES = frozenset({("GET", "/livez"), ("GET", "/readyz"), ("GET", "/health")})
"""Routes of health probes, which send no token."""
PUBLIC_PREFIX = f"{MOUNT}/"
"""Prefix of the public static files of pages: a browser sends the token for a page, but not for these files."""
AGENT_ROUTES = frozenset(
    {
        ("POST", "/step"),
        ("GET", "/v1/tools"),
        ("POST", "/v1/episodes/{episode_id}/step"),
        ("GET", "/v1/episodes/{episode_id}/tools"),
        ("GET", "/v1/episodes/{episode_id}/render"),
        *DESK_ROUTES,
        *(("POST", path) for path in MCP_PATHS),
    }
)
"""Routes that accept an episode token, for that episode."""

SERVICE_ROUTE = "/v1/episodes/{episode_id}/services/{service}/{signature}/{path:path}"
"""Route that is authorized by the signature in its path."""

SERVICE_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

AGENT_SCOPE_KEY = "companyos.agent"
TRAINER_SCOPE_KEY = "companyos.trainer"
"""Present if tokens are required and the trainer sends the request."""

_FORBIDDEN = 403

_RouteKey = tuple[str, str]

_SERVICE_PATTERN = compile_path(SERVICE_ROUTE)[0]
_AGENT_PATTERNS = tuple((method, compile_path(path)[0]) for method, path in sorted(AGENT_ROUTES))


class TokenRequiredError(GatewayError):
    status, code, title = 401, "token-required", "Token required"
    default_detail = "The header `Authorization: Bearer TOKEN` is missing."


class UnknownTokenError(GatewayError):
    status, code, title = 401, "unknown-token", "Unknown or expired token"
    default_detail = "The token is neither the trainer's nor that of a live episode."


class AgentForbiddenError(GatewayError):
    status, code, title = 403, "trainer-token-required", "Not allowed with an episode token"
    default_detail = "Only the trainer's token allows this request."


class TokenAuthMiddleware:
    """ASGI middleware that rejects HTTP requests and WebSockets without a sufficient token.

    `store` returns the store of live episodes; it raises ServicesUnavailableError (503) while there is none.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        trainer_token: str | None,
        sessions: BrowserSessions,
        store: Callable[[], EpisodeStore],
    ) -> None:
        self._app = app
        self._trainer = None if trainer_token is None else sha256(trainer_token.encode()).digest()
        self._sessions = sessions
        self._store = store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if self._trainer is not None and scope["type"] in ("http", "websocket"):
            try:
                self._authenticate(scope, self._trainer)
            except GatewayError as problem:
                if scope["type"] == "http" and _session_cookie_name(route_path(scope)):
                    await problem_page(problem, _FORBIDDEN)(scope, receive, send)
                else:
                    await send_error(problem, scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _authenticate(self, scope: Scope, trainer: bytes) -> None:
        """Mark the request in the scope as the trainer's, or store the episode of the agent.

        Raises TokenRequiredError or UnknownTokenError (401) or AgentForbiddenError (403).
        """
        route_key: _RouteKey = (scope.get("method", "WEBSOCKET"), route_path(scope))
        if route_key in PUBLIC_ROUTES or (route_key[0] == "GET" and route_key[1].startswith(PUBLIC_PREFIX)):
            return
        if (signed := self._signed_episode(*route_key)) is not None:
            scope[AGENT_SCOPE_KEY] = signed
            return
        cookie = _session_cookie_name(route_key[1])
        token = None if cookie is None else HTTPConnection(scope).query_params.get("token")
        session_id = None if cookie is None else HTTPConnection(scope).cookies.get(cookie)
        if not token and session_id is not None:
            episode = self._episode_of_session(session_id)
        else:
            episode = self._episode_of_token(token.encode() if token else _bearer_token(scope), trainer)
        if episode is None:
            scope[TRAINER_SCOPE_KEY] = True
        elif not _is_agent_route(route_key):
            raise AgentForbiddenError
        else:
            scope[AGENT_SCOPE_KEY] = episode

    def _signed_episode(self, method: str, path: str) -> Episode | None:
        """Return the live episode of a signed URL of a service, None for every other path."""
        match = _SERVICE_PATTERN.match(path)
        if match is None or method not in SERVICE_METHODS:
            return None
        return signed_episode(self._store(), match["episode_id"], match["service"], match["signature"])

    def _episode_of_token(self, token: bytes, trainer: bytes) -> Episode | None:
        """Return the live episode of a token, None for the trainer token; raises UnknownTokenError (401)."""
        if hmac.compare_digest(sha256(token).digest(), trainer):
            return None
        try:
            return self._store().get_by_token(token.decode("ascii"))
        except (UnknownEpisodeError, UnicodeDecodeError):
            raise UnknownTokenError from None

    def _episode_of_session(self, session_id: str) -> Episode | None:
        """Return the live episode of a browser session, None for the trainer; raises UnknownTokenError (401)."""
        session = self._sessions.find(session_id)
        if session is None:
            raise UnknownTokenError
        if session.episode is None:
            return None
        episode = next((episode for episode in self._store() if episode.internal_id == session.episode), None)
        if episode is None:
            raise UnknownTokenError
        return episode


def signed_episode(store: EpisodeStore, episode_id: str, service: str, signature: str) -> Episode | None:
    """Return the live episode of the signed URL of a service, None if any part of the URL is wrong."""
    try:
        episode = store.get(episode_id)
    except GatewayError:
        return None
    expected = service_signature(episode.token, service)
    return episode if hmac.compare_digest(signature.encode(), expected.encode()) else None


def requested_episode(request: HTTPConnection, store: EpisodeStore, episode_id: str) -> Episode:
    """Return the live episode that a request names; raises UnknownEpisodeError (404).

    For an agent every other episode is unknown, even if it is live.
    """
    agent: Episode | None = request.scope.get(AGENT_SCOPE_KEY)
    if agent is None:
        return store.get(episode_id)
    if agent.id != episode_id:
        raise UnknownEpisodeError
    return agent


def check_is_trainer(request: HTTPConnection) -> None:
    """Raise AgentForbiddenError (403) if an agent requests data that only the trainer may see."""
    if not is_trainer(request):
        raise AgentForbiddenError


def is_trainer(request: HTTPConnection) -> bool:
    """Return whether the trainer sends a request. If tokens are not required, every client counts as the trainer."""
    return AGENT_SCOPE_KEY not in request.scope


@contextmanager
def hide_outcome(request: HTTPConnection) -> Iterator[None]:
    """Remove the outcome of the episode from an EpisodeDoneError inside the context, unless it is for the trainer."""
    try:
        yield
    except EpisodeDoneError:
        if is_trainer(request):
            raise
        raise EpisodeDoneError from None


def _is_agent_route(route_key: _RouteKey) -> bool:
    return any(method == route_key[0] and pattern.match(route_key[1]) for method, pattern in _AGENT_PATTERNS)


def _session_cookie_name(path: str) -> str | None:
    """Return the name of the session cookie for a page path, None for other paths."""
    if is_desk_path(path):
        return EPISODE_COOKIE
    return TRAINER_COOKIE if is_console_path(path) else None


def _bearer_token(scope: Scope) -> bytes:
    """Return the bearer token of a connection; raises TokenRequiredError or UnknownTokenError (401)."""
    headers: list[bytes] = [value for name, value in scope["headers"] if name == b"authorization"]
    if not headers:
        raise TokenRequiredError
    scheme, _, token = headers[0].partition(b" ")
    if len(headers) > 1 or scheme.lower() != b"bearer":
        raise UnknownTokenError("Authorization must be sent once, as `Bearer TOKEN`.")
    return token.strip(b" ")
