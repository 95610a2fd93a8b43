"""OpenEnv's server with separate limits for WebSockets and for sessions without a WebSocket.

`openenv/session/create` over HTTP opens a session without a connection. Such sessions cost the client nothing, so they
must not use the slots of WebSockets, and idle ones are closed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from openenv.core.env_server.exceptions import SessionCapacityError
from openenv.core.env_server.http_server import HTTPEnvServer
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, ConcurrencyConfig, Observation

from companyos_gateway.middleware.websocket_limits import IDLE_BEFORE_EVICTION_S, ON_SOCKET, WebSocketSlots

REAP_INTERVAL_S = 5.0

_log = logging.getLogger(__name__)


class LimitedOpenEnvServer(HTTPEnvServer):
    """OpenEnv server with its own limits and reaper; those of the framework are disabled."""

    def __init__(
        self,
        env: Callable[[], Environment[Any, Any, Any]],
        action_cls: type[Action],
        observation_cls: type[Observation],
        *,
        sockets: WebSocketSlots,
        max_sessions: int,
        session_idle_limit_s: float,
        **options: Any,
    ) -> None:
        limit = ConcurrencyConfig(max_concurrent_envs=sockets.limit + max_sessions, session_timeout=None)
        super().__init__(env, action_cls, observation_cls, concurrency_config=limit, **options)
        self.sockets = sockets
        self._max_sessions = max_sessions
        self._session_idle_limit_s = session_idle_limit_s
        self._used_at: dict[str, float] = {}
        self._create_lock = asyncio.Lock()

    def slots_used(self) -> int:
        """Return the number of connections and sessions."""
        return len(self.sockets) + len(self._sessions_without_socket())

    def slots_limit(self) -> int:
        """Return the maximum number of connections and sessions."""
        return self.sockets.limit + self._max_sessions

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the reaper inside the context and stop the framework's threads on exit."""
        reaping = asyncio.create_task(self._reap_forever())
        try:
            yield
        finally:
            reaping.cancel()
            with suppress(asyncio.CancelledError):
                await reaping
            for pool in (self._executor, self._shared_session_executor):
                if pool is not None:
                    pool.shutdown(wait=False)

    async def reap(self) -> None:
        """Close sockets and sessions that exceed the idle limit."""
        await self.sockets.reap()
        now = time.monotonic()
        for session_id, used_at in self._sessions_without_socket().items():
            if session_id in self._session_websocket_attachments:
                self._used_at[session_id] = now
            elif now - used_at > self._session_idle_limit_s:
                await self._destroy_session(session_id)

    async def _create_session(self) -> tuple[str, Environment[Any, Any, Any]]:
        if ON_SOCKET.get():
            return await super()._create_session()
        async with self._create_lock:
            await self._evict_idle_session()
            session_id, env = await super()._create_session()
            self._used_at[session_id] = time.monotonic()
        return session_id, env

    async def _destroy_session(self, session_id: str) -> None:
        self._used_at.pop(session_id, None)
        await super()._destroy_session(session_id)

    def _update_session_activity(self, session_id: str, increment_step: bool = False) -> None:
        if session_id in self._used_at:
            self._used_at[session_id] = time.monotonic()
        super()._update_session_activity(session_id, increment_step)

    async def _evict_idle_session(self) -> None:
        """Close the longest idle session without a socket if the limit is reached; raises SessionCapacityError."""
        sessions = self._sessions_without_socket()
        if len(sessions) < self._max_sessions:
            return
        free = {name: at for name, at in sessions.items() if name not in self._session_websocket_attachments}
        oldest = min(free, key=free.__getitem__, default=None)
        if oldest is None or time.monotonic() - free[oldest] <= IDLE_BEFORE_EVICTION_S:
            raise SessionCapacityError(active_sessions=len(sessions), max_sessions=self._max_sessions)
        await self._destroy_session(oldest)

    def _sessions_without_socket(self) -> dict[str, float]:
        """Return the time of last use of each open session without a socket."""
        self._used_at = {name: at for name, at in self._used_at.items() if name in self._sessions}
        return dict(self._used_at)

    async def _reap_forever(self) -> None:
        while True:
            await asyncio.sleep(REAP_INTERVAL_S)
            try:
                await self.reap()
            except Exception:  # noqa: BLE001 - the other sessions still have to be closed
                _log.exception("closing idle sessions failed")
