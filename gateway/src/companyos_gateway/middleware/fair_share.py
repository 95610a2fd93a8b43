"""Fair shares of the event loop: no client delays the others, and a client alone never waits.

All requests run on one event loop, so a request delays the others by the time for which it occupies the loop. Each
client has a budget of that time, which fills at its share and is charged with the time of its requests. The requests of
a client without budget wait and run one after the other while other clients are active.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from companyos_gateway.engine.errors import RateLimitedError

ACTIVE_S = 1.0
"""Seconds for which a client counts as active after its last request."""
BURST_S = 0.01
"""Maximum budget in seconds."""
MAX_SHARE = 0.5
"""Maximum share of a client, which it has if few are active."""
HEADROOM = 2.0
"""Share of a client as a multiple of an even share, because the load of clients at full speed is uneven."""
REQUEST_S = 0.0002
"""Seconds of the loop per request outside its own task, for reading it and writing the response."""
SHORTEST_WAIT_S = 0.001
_EPISODE = "episode "


@dataclass(slots=True, eq=False)
class Client:
    """The budget of one client, in seconds of the event loop, and its waiting requests."""

    budget_s: float = BURST_S
    filled_at: float = 0.0
    used_at: float = 0.0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    timer: asyncio.Handle | None = None


class FairShareScheduler:
    """The budgets of all clients. `min_share` is the share of a client regardless of the number of active ones."""

    def __init__(self, *, min_share: float, max_waiting: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._min_share = min_share
        self._max_waiting = max_waiting
        self._clock = clock
        self._clients: OrderedDict[str, Client] = OrderedDict()
        """Clients by name, the most recently active one last."""

    def __len__(self) -> int:
        return len(self._clients)

    def share(self) -> float:
        """Return the current share of each client, as a fraction of the loop's time."""
        return max(self._min_share, min(MAX_SHARE, HEADROOM / max(len(self._clients), 1)))

    async def admit(self, name: str, *, bounded: bool = True) -> None:
        """Wait until a client has budget; raises RateLimitedError (429) if too many of its requests wait."""
        client = self._touch(name)
        if not client.waiting and self._has_budget(client):
            return
        if bounded and len(client.waiting) >= self._max_waiting:
            raise RateLimitedError(f"{self._max_waiting} requests of this client are waiting.")
        future = asyncio.get_running_loop().create_future()
        client.waiting.append(future)
        self._schedule(client)
        try:
            await future
        except asyncio.CancelledError:
            with suppress(ValueError):
                client.waiting.remove(future)
            raise

    def charge(self, name: str, seconds: float) -> float:
        """Deduct seconds from the budget of a client, or add them if negative; return its waiting time in seconds."""
        client = self._touch(name)
        client.budget_s = min(client.budget_s - seconds, BURST_S)
        if len(self._clients) == 1:
            client.budget_s = max(client.budget_s, 0.0)
            return 0.0
        return max(0.0, -client.budget_s / self.share())

    def forget(self, name: str) -> None:
        """Stop counting a client as active, unless it has waiting requests or a negative budget."""
        client = self._clients.get(name)
        if client is not None and not client.waiting and client.budget_s >= 0:
            del self._clients[name]

    def _touch(self, name: str) -> Client:
        now = self._clock()
        self._forget_inactive(now)
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = Client(filled_at=now)
        else:
            self._clients.move_to_end(name)
        client.used_at = now
        self._fill(client, now)
        return client

    def _forget_inactive(self, now: float) -> None:
        """Remove inactive clients, except those with waiting requests or a negative budget."""
        while self._clients:
            name, client = next(iter(self._clients.items()))
            if client.used_at > now - ACTIVE_S:
                return
            self._fill(client, now)
            if client.waiting or client.budget_s < 0:
                client.used_at = now
                self._clients.move_to_end(name)
            else:
                del self._clients[name]

    def _fill(self, client: Client, now: float) -> None:
        client.budget_s = min(client.budget_s + (now - client.filled_at) * self.share(), BURST_S)
        client.filled_at = now

    def _has_budget(self, client: Client) -> bool:
        return client.budget_s > 0 or len(self._clients) == 1

    def _schedule(self, client: Client) -> None:
        if client.timer is None and client.waiting:
            delay_s = 0.0 if self._has_budget(client) else max(SHORTEST_WAIT_S, -client.budget_s / self.share())
            client.timer = asyncio.get_running_loop().call_later(delay_s, self._release, client)

    def _release(self, client: Client) -> None:
        """Admit the first waiting request, and check again once its first slice of work has been charged."""
        client.timer = None
        now = self._clock()
        self._forget_inactive(now)
        self._fill(client, now)
        if client.waiting and self._has_budget(client):
            future = client.waiting.popleft()
            if not future.cancelled():
                future.set_result(None)
            client.timer = asyncio.get_running_loop().call_soon(self._release, client)
        else:
            self._schedule(client)


class ClientAccount:
    """Account that a request or socket is charged to; the client may become known later."""

    __slots__ = ("_charged_s", "_shares", "name")

    def __init__(self, shares: FairShareScheduler, name: str) -> None:
        self._shares = shares
        self._charged_s = 0.0
        self.name = name

    async def admit(self, *, bounded: bool = True) -> None:
        """Wait until the client has budget; raises RateLimitedError (429) if too many of its requests wait."""
        self._charged_s = 0.0
        await self._shares.admit(self.name, bounded=bounded)
        self.charge(REQUEST_S)

    def charge(self, seconds: float) -> float:
        """Charge the client with seconds of the loop; return its waiting time in seconds."""
        self._charged_s += seconds
        return self._shares.charge(self.name, seconds)

    @property
    def episode_id(self) -> str | None:
        """The id of the episode that the account belongs to, if any."""
        return self.name.removeprefix(_EPISODE) if self.name.startswith(_EPISODE) else None

    def move_to(self, name: str) -> None:
        """Charge another client from now on, and transfer to it the charges since the last admission.

        A socket that starts an episode ends its former one, which no longer counts as active.
        """
        if name != self.name:
            self._shares.charge(self.name, -self._charged_s)
            if self.episode_id is not None:
                self._shares.forget(self.name)
            self.name = name
            self._shares.charge(name, self._charged_s)


CURRENT_ACCOUNT: ContextVar[ClientAccount | None] = ContextVar("CURRENT_ACCOUNT", default=None)
"""The account of the request or socket that is being served."""


def client_of_episode(episode_id: str) -> str:
    """Return the name of the client that plays an episode."""
    return f"{_EPISODE}{episode_id}"


def charge_episode(episode_id: str) -> None:
    """Charge the current request or socket to the episode that it has started or resumed."""
    account = CURRENT_ACCOUNT.get()
    if account is not None:
        account.move_to(client_of_episode(episode_id))


class ChargedAwaitable:
    """An awaitable that runs another one and charges an account with the time for which it occupies the loop."""

    __slots__ = ("_account", "_work")

    def __init__(self, work: Awaitable[None], account: ClientAccount) -> None:
        self._work = work
        self._account = account

    def __await__(self) -> Generator[Any, Any, None]:
        work = self._work.__await__()
        value: Any = None
        error: BaseException | None = None
        while True:
            began = time.perf_counter()
            try:
                awaited = work.send(value) if error is None else work.throw(error)
            except StopIteration:
                return
            finally:
                self._account.charge(time.perf_counter() - began)
            try:
                value, error = (yield awaited), None
            except BaseException as caught:  # noqa: BLE001 - passed to the coroutine, including cancellation
                value, error = None, caught
