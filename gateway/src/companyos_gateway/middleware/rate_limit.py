"""Rate limiting middleware: identifies the client of a connection and admits its requests.

The limits are the settings `client_share` and `client_queue`, applied by `FairShareScheduler` in `fair_share.py`.
`error_responses.py` adds Retry-After.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from companyos_gateway.engine.errors import RateLimitedError, ServicesUnavailableError, UnknownEpisodeError
from companyos_gateway.engine.store import EpisodeStore
from companyos_gateway.middleware.error_responses import problem_response
from companyos_gateway.middleware.fair_share import (
    CURRENT_ACCOUNT,
    ChargedAwaitable,
    ClientAccount,
    FairShareScheduler,
    client_of_episode,
)
from companyos_shared.web.route_path import route_path

ADMISSION_SCOPE_KEY = "companyos.admission"
ACCOUNT_SCOPE_KEY = "companyos.account"
BODY_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})

_TRAINER = "trainer"
_PROBES = frozenset({"/livez", "/readyz", "/health"})
_IN_PATH = re.compile(r"/v1/episodes/([A-Za-z0-9._-]{1,128})(?:/|\Z)")
_IN_BODY = re.compile(rb'"episode_id"\s*+:\s*+"([A-Za-z0-9._-]{1,128})"')
_QUERY_BYTES = 4096
"""Number of bytes of a query that are searched for an episode id."""


class RateLimitMiddleware:
    """ASGI middleware that admits requests and messages according to the shares of their clients.

    The client is the live episode that a request names, otherwise its address. If tokens are required, it is the
    episode of the token. Requests with the trainer token count for the live episode that they name, otherwise for the
    trainer.
    """

    def __init__(
        self, app: ASGIApp, *, shares: FairShareScheduler, trainer_token: str | None, store: Callable[[], EpisodeStore]
    ) -> None:
        self._app = app
        self._shares = shares
        self._trainer = None if trainer_token is None else sha256(trainer_token.encode()).digest()
        self._store = store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        account = scope[ACCOUNT_SCOPE_KEY] = ClientAccount(self._shares, self._client_of(scope))
        CURRENT_ACCOUNT.set(account)
        if scope["type"] == "http" and scope["method"] in BODY_METHODS:
            pending = scope[ADMISSION_SCOPE_KEY] = DeferredAdmission(account, self._charge_named_episode)
            await ChargedAwaitable(self._app(scope, receive, pending.sender(send)), account)
            self._forget_ended(account)
            return
        try:
            await account.admit()
        except RateLimitedError as problem:
            await refuse_and_close(problem, scope, receive, send)
            return
        if scope["type"] == "websocket":
            receive = _charged_receive(account, receive)
        await ChargedAwaitable(self._app(scope, receive, send), account)
        self._forget_ended(account)

    def _forget_ended(self, account: ClientAccount) -> None:
        """Stop counting the client of an episode that is no longer live as active."""
        with suppress(ServicesUnavailableError):  # a socket may close while the gateway stops
            if account.episode_id is not None and not self._store().has(account.episode_id):
                self._shares.forget(account.name)

    def _client_of(self, scope: Scope) -> str:
        try:
            store = self._store()
        except ServicesUnavailableError:
            return _address(scope)
        if self._trainer is None:
            return _live_client(_episode_ids(scope), store) or _address(scope)
        token = next((value for name, value in scope["headers"] if name == b"authorization"), b"").partition(b" ")[2]
        if hmac.compare_digest(sha256(token.strip(b" ")).digest(), self._trainer):
            return _live_client(_episode_ids(scope), store) or _TRAINER
        try:
            return client_of_episode(store.get_by_token(token.strip(b" ").decode("ascii")).id)
        except (UnknownEpisodeError, UnicodeDecodeError):
            return _address(scope)

    def _charge_named_episode(self, account: ClientAccount, body: bytes) -> None:
        """Charge the account of the episode that a body names, if the client may name one."""
        if account.name == _TRAINER or (self._trainer is None and account.episode_id is None):
            episode_id = _IN_BODY.search(body)
            name = episode_id and _live_client([episode_id[1].decode()], self._store())
            if name:
                account.move_to(name)


class DeferredAdmission:
    """The admission of a request after its body has been read, because the body may name the episode."""

    def __init__(self, account: ClientAccount, name: Callable[[ClientAccount, bytes], None]) -> None:
        self._account = account
        self._name = name
        self._is_admitted = False

    async def admit(self, body: bytes) -> None:
        """Wait until the client has budget; raises RateLimitedError (429)."""
        self._is_admitted = True
        self._name(self._account, body)
        await self._account.admit()

    def sender(self, send: Send) -> Send:
        """Return a `send` that also waits for admission if the response starts before the body has been read."""

        async def deferred_send(message: Message) -> None:
            if not self._is_admitted:
                self._is_admitted = True
                await self._account.admit(bounded=False)
            await send(message)

        return deferred_send


async def refuse_and_close(problem: RateLimitedError, scope: Scope, receive: Receive, send: Send) -> None:
    """Reject a request and close its connection."""
    response = problem_response(problem)
    response.headers["Connection"] = "close"
    await response(scope, receive, send)


def _charged_receive(account: ClientAccount, receive: Receive) -> Receive:
    async def charged_receive() -> Message:
        message = await receive()
        if message["type"] == "websocket.receive":
            await account.admit(bounded=False)
        return message

    return charged_receive


def _address(scope: Scope) -> str:
    client = scope.get("client")
    address = client[0] if client else "local"
    return f"probe {address}" if route_path(scope) in _PROBES else f"address {address}"


def _episode_ids(scope: Scope) -> Iterator[str]:
    """Yield the possible episode ids in the path, headers and query of a request."""
    episode_id = _IN_PATH.match(route_path(scope))
    if episode_id is not None:
        yield episode_id[1]
    yield from (value.decode("latin-1") for name, value in scope["headers"] if name == b"x-companyos-episode")
    query = scope.get("query_string", b"")[:_QUERY_BYTES].decode("latin-1")
    if "episode_id=" in query:
        yield from (value for name, value in parse_qsl(query) if name == "episode_id")


def _live_client(ids: Iterable[str], store: EpisodeStore) -> str | None:
    """Return the client of the first live episode among ids."""
    return next((client_of_episode(episode_id) for episode_id in ids if store.has(episode_id)), None)
