"""Steady hands for scripted agents: calls that outlast a bad connection and never do a thing twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from companyos.policies import Call, EpisodeOverError, StepView

MAX_TRIES = 8
TRANSIENT = frozenset({"too-many-requests", "service-unavailable", "timeout", "access-denied"})
"""Codes of refusals that another try may get past."""

POSSIBLY_COMMITTED = "timeout"
"""The code of a refusal behind which the work may have been done."""

LAG_MINUTES = 10
"""How long to wait where a system does not show yet what it has confirmed."""


class ToolRefusedError(Exception):
    """Raised for a refusal that another try would not change; `code` says which."""

    def __init__(self, tool: str, code: str) -> None:
        super().__init__(f"{tool}: {code}")
        self.code = code


class ToolClient:
    """Calls tools for one episode. Every method raises EpisodeOverError with the step that ends it."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._key_count = 0
        self._last_view: StepView | None = None
        self._versions: dict[tuple[str, str], int] = {}

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Read something, trying again where the connection fails. Raises Refused."""
        for _ in range(MAX_TRIES):
            view = await self._call_until_current(tool, arguments)
            if not view.is_refused:
                return view.result
            if view.problem not in TRANSIENT:
                raise ToolRefusedError(tool, view.problem or view.error or "")
        raise ToolRefusedError(tool, "given-up")

    async def create(self, tool: str, **arguments: Any) -> Any:
        """Make a row under an idempotency key, so that another try cannot make a second one. Raises Refused."""
        self._key_count += 1
        return await self.call(tool, **arguments, idempotency_key=f"hand-{self._key_count}")

    async def update(self, tool: str, is_done: Callable[[], Awaitable[bool]], **arguments: Any) -> None:
        """Change something; after a time-out look whether it is done before trying again. Raises Refused."""
        for _ in range(MAX_TRIES):
            view = await self._call_until_current(tool, arguments)
            if not view.is_refused:
                return
            if view.problem not in TRANSIENT:
                raise ToolRefusedError(tool, view.problem or view.error or "")
            if view.problem == POSSIBLY_COMMITTED and await is_done():
                return
        raise ToolRefusedError(tool, "given-up")

    async def list_all(self, tool: str, **arguments: Any) -> list[dict[str, Any]]:
        """Read every row of a list. Raises Refused."""
        rows: list[dict[str, Any]] = []
        cursor: dict[str, str] = {}
        while True:
            page = await self.call(tool, **arguments, **cursor)
            rows += page["items"]
            if page["next_cursor"] is None:
                return rows
            cursor = {"cursor": page["next_cursor"]}

    def now(self) -> datetime:
        """Return the simulated time of the last answer; there has been one."""
        assert self._last_view is not None
        return self._last_view.now

    async def wait(self, minutes: int) -> None:
        """Let simulated minutes pass."""
        await self._call_until_current("wait", {"minutes": minutes})

    async def finish(self, outcome: str, summary: str, **more: Any) -> None:
        """Declare the outcome, which ends the episode; `more` are the reason and the answers."""
        await self._call_until_current("finish", {"outcome": outcome, "summary": summary, **more})

    async def _call_until_current(self, tool: str, arguments: dict[str, Any]) -> StepView:
        view = await self._send(tool, arguments)
        for _ in range(MAX_TRIES):
            if not self._is_older_than_seen(tool, view):
                break
            await self._send("wait", {"minutes": LAG_MINUTES})
            view = await self._send(tool, arguments)
        return view

    async def _send(self, tool: str, arguments: dict[str, Any]) -> StepView:
        self._last_view = view = await self._call(tool, arguments)
        if view.done:
            raise EpisodeOverError
        return view

    def _is_older_than_seen(self, tool: str, view: StepView) -> bool:
        """Say whether an answer shows an older version of something than one seen before: the system lags behind."""
        shown = view.result if isinstance(view.result, dict) and not view.is_refused else {}
        version, name = shown.get("version"), shown.get("key", shown.get("id"))
        if not isinstance(version, int) or not isinstance(name, str):
            return False
        place = (tool.partition("_")[0], name)
        newest = self._versions.get(place, version)
        self._versions[place] = max(newest, version)
        return version < newest
