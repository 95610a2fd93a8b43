"""A tool client with retries and idempotency for scripted agents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from math import ceil
from typing import Any

from companyos.policies import Call, EpisodeOverError, StepView

MAX_TRIES = 20
"""Maximum tries of a call. Eight faults in a row do occur: in one of 335 months, at level 4."""

TRANSIENT = frozenset({"too-many-requests", "service-unavailable", "timeout", "authorization-unavailable"})
"""Error codes for which a retry may succeed."""

POSSIBLY_COMMITTED = "timeout"
"""The error code of a call that may have been committed."""

NOT_FOUND = 404

MAX_WAIT_MINUTES = 10_080
"""The maximum that `wait` accepts."""

LAG_MINUTES = 10
"""Maximum delay until reads show a write."""


class ToolRefusedError(Exception):
    """Raised for an error that a retry would not resolve; `code` is the problem's code."""

    def __init__(self, tool: str, code: str) -> None:
        super().__init__(f"{tool}: {code}")
        self.code = code


class MissingFactError(Exception):
    """Raised by a worker that continues without a fact that the work needs; the fair oracle refuses earlier."""


class ToolClient:
    """Calls the tools of one episode. Every method raises EpisodeOverError with the step that ends the episode."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._key_count = 0
        self._last_view: StepView | None = None
        self._versions: dict[tuple[str, str], int] = {}

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that reads, with retries. Raises ToolRefusedError."""
        for _ in range(MAX_TRIES):
            view = await self._call_until_current(tool, arguments)
            if not view.is_refused:
                return view.result
            await self._outlast(tool, view)
        raise ToolRefusedError(tool, "given-up")

    async def create(self, tool: str, **arguments: Any) -> Any:
        """Create a row with an idempotency key, so that a retry cannot create a second one. Raises ToolRefusedError."""
        self._key_count += 1
        return await self.call(tool, **arguments, idempotency_key=f"hand-{self._key_count}")

    async def update(self, tool: str, is_done: Callable[[], Awaitable[bool]], **arguments: Any) -> None:
        """Update a row. After a timeout, check it once reads no longer lag, then retry. Raises ToolRefusedError."""
        for _ in range(MAX_TRIES):
            view = await self._call_until_current(tool, arguments)
            if not view.is_refused:
                return
            await self._outlast(tool, view)
            if view.problem == POSSIBLY_COMMITTED:
                await self.wait(LAG_MINUTES)
                if await is_done():
                    return
        raise ToolRefusedError(tool, "given-up")

    async def list_all(self, tool: str, **arguments: Any) -> list[dict[str, Any]]:
        """Return all rows of a list, from all of its pages. Raises ToolRefusedError."""
        rows: list[dict[str, Any]] = []
        cursor: dict[str, str] = {}
        while True:
            page = await self.call(tool, **arguments, **cursor)
            rows += page["items"]
            if page["next_cursor"] is None:
                return rows
            cursor = {"cursor": page["next_cursor"]}

    def now(self) -> datetime:
        """Return the simulated time of the last response. Requires an earlier call."""
        assert self._last_view is not None
        return self._last_view.now

    async def wait(self, minutes: int) -> None:
        """Wait for a number of simulated minutes."""
        await self._call_until_current("wait", {"minutes": minutes})

    async def finish(self, outcome: str, summary: str, **more: Any) -> None:
        """Declare the outcome, which ends the episode; `more` are the reason and the answers."""
        await self._call_until_current("finish", {"outcome": outcome, "summary": summary, **more})

    async def _outlast(self, tool: str, view: StepView) -> None:
        """Wait for the retry time of a transient error. Raises ToolRefusedError if a retry cannot resolve the error."""
        if view.problem not in TRANSIENT:
            raise ToolRefusedError(tool, view.problem or view.error or "")
        if seconds := view.result.get("retry_after_s"):
            await self._send("wait", {"minutes": ceil(seconds / 60)})

    async def _call_until_current(self, tool: str, arguments: dict[str, Any]) -> StepView:
        view = await self._send(tool, arguments)
        for _ in range(MAX_TRIES):
            if not self._is_older_than_seen(tool, arguments, view):
                break
            await self._send("wait", {"minutes": LAG_MINUTES})
            view = await self._send(tool, arguments)
        return view

    async def _send(self, tool: str, arguments: dict[str, Any]) -> StepView:
        self._last_view = view = await self._call(tool, arguments)
        if view.done:
            raise EpisodeOverError
        return view

    def _is_older_than_seen(self, tool: str, arguments: dict[str, Any], view: StepView) -> bool:
        """Return whether a response lacks an object that was seen before, or contains an older version of it."""
        service = tool.partition("_")[0]
        if not isinstance(view.result, dict):
            return False
        if view.is_refused:
            return view.result.get("status") == NOT_FOUND and any(
                (service, value) in self._versions for value in arguments.values() if isinstance(value, str)
            )
        is_older = False
        for shown in (view.result, *view.result.get("items", ())):
            version, name = shown.get("version"), shown.get("key", shown.get("id"))
            if isinstance(version, int) and isinstance(name, str):
                newest = self._versions.setdefault((service, name), version)
                self._versions[service, name] = max(newest, version)
                is_older |= version < newest
        return is_older
