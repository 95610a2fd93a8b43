"""Steady hands for scripted agents: calls that outlast a bad connection and never do a thing twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from companyos.policies import Call, EpisodeOver, StepView

MOST_TRIES = 8
TRANSIENT = frozenset({"too-many-requests", "service-unavailable", "timeout", "access-denied"})
"""Codes of refusals that another try may get past."""

MAYBE_DONE = "timeout"
"""The code of a refusal behind which the work may have been done."""

LAG_MINUTES = 10
"""How long to wait where a system does not show yet what it has confirmed."""


class Refused(Exception):
    """Raised for a refusal that another try would not change; `code` says which."""

    def __init__(self, tool: str, code: str) -> None:
        super().__init__(f"{tool}: {code}")
        self.code = code


class Hands:
    """Calls tools for one episode. Every method raises EpisodeOver with the step that ends it."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._keys = 0
        self._last: StepView | None = None
        self._versions: dict[tuple[str, str], int] = {}

    async def ask(self, tool: str, **arguments: Any) -> Any:
        """Read something, trying again where the connection fails. Raises Refused."""
        for _ in range(MOST_TRIES):
            view = await self._step(tool, arguments)
            if not view.is_refused:
                return view.result
            if view.problem not in TRANSIENT:
                raise Refused(tool, view.problem or view.error or "")
        raise Refused(tool, "given-up")

    async def make(self, tool: str, **arguments: Any) -> Any:
        """Make a row under an idempotency key, so that another try cannot make a second one. Raises Refused."""
        self._keys += 1
        return await self.ask(tool, **arguments, idempotency_key=f"hand-{self._keys}")

    async def change(self, tool: str, is_done: Callable[[], Awaitable[bool]], **arguments: Any) -> None:
        """Change something; after a time-out look whether it is done before trying again. Raises Refused."""
        for _ in range(MOST_TRIES):
            view = await self._step(tool, arguments)
            if not view.is_refused:
                return
            if view.problem not in TRANSIENT:
                raise Refused(tool, view.problem or view.error or "")
            if view.problem == MAYBE_DONE and await is_done():
                return
        raise Refused(tool, "given-up")

    async def pages(self, tool: str, **arguments: Any) -> list[dict[str, Any]]:
        """Read every row of a list. Raises Refused."""
        rows: list[dict[str, Any]] = []
        cursor: dict[str, str] = {}
        while True:
            page = await self.ask(tool, **arguments, **cursor)
            rows += page["items"]
            if page["next_cursor"] is None:
                return rows
            cursor = {"cursor": page["next_cursor"]}

    def now(self) -> datetime:
        """Return the simulated time of the last answer; there has been one."""
        assert self._last is not None
        return self._last.now

    async def wait(self, minutes: int) -> None:
        """Let simulated minutes pass."""
        await self._step("wait", {"minutes": minutes})

    async def finish(self, outcome: str, summary: str, **more: Any) -> None:
        """Declare the outcome, which ends the episode; `more` are the reason and the answers."""
        await self._step("finish", {"outcome": outcome, "summary": summary, **more})

    async def _step(self, tool: str, arguments: dict[str, Any]) -> StepView:
        view = await self._take(tool, arguments)
        for _ in range(MOST_TRIES):
            if not self._is_outdated(tool, view):
                break
            await self._take("wait", {"minutes": LAG_MINUTES})
            view = await self._take(tool, arguments)
        return view

    async def _take(self, tool: str, arguments: dict[str, Any]) -> StepView:
        self._last = view = await self._call(tool, arguments)
        if view.done:
            raise EpisodeOver
        return view

    def _is_outdated(self, tool: str, view: StepView) -> bool:
        """Say whether an answer shows an older version of something than one seen before: the system lags behind."""
        shown = view.result if isinstance(view.result, dict) and not view.is_refused else {}
        version, name = shown.get("version"), shown.get("key", shown.get("id"))
        if not isinstance(version, int) or not isinstance(name, str):
            return False
        place = (tool.partition("_")[0], name)
        newest = self._versions.get(place, version)
        self._versions[place] = max(newest, version)
        return version < newest
