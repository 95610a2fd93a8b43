"""The player of shifts: it works one case while others wait, each with a player of its scenario."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from companyos.policies import Call, EpisodeOverError, StepView, TaskView
from companyos_players.player import Player
from companyos_players.tool_client import ToolClient

QUEUE_TAG = "operations-desk"

SCENARIOS_BY_TAGS: Mapping[frozenset[str], str] = MappingProxyType(
    {
        frozenset({"access"}): "access_request",
        frozenset({"audit"}): "audit_remediation",
        frozenset({"budget", "transfer"}): "budget_transfer",
        frozenset({"bug", "production"}): "bug_escalation",
        frozenset({"contract", "renewal"}): "contract_renewal",
        frozenset({"refunds"}): "customer_refund",
        frozenset({"data quality"}): "data_discrepancy",
        frozenset({"offboarding"}): "employee_offboarding",
        frozenset({"expenses"}): "expense_report",
        frozenset({"handbook"}): "handbook_update",
        frozenset({"hiring", "offer"}): "hiring_approval",
        frozenset({"incident", "production"}): "incident_response",
        frozenset({"licence", "renewal"}): "license_renewal",
        frozenset({"invoices"}): "purchase_order",
        frozenset({"close"}): "quarter_close",
        frozenset({"security", "exception"}): "security_exception",
        frozenset({"vendors", "bank"}): "vendor_bank_change",
        frozenset({"vendor", "onboarding"}): "vendor_onboarding",
    }
)
"""The scenario of a ticket by its tags."""


SHIFT_PREFIX = "shift-"
"""Names of shifts start with this."""


def player_for(scenario: str, find_player: Callable[[str], Player]) -> Player:
    """Return the player of a scenario, or of a shift with the players of its cases."""
    if not scenario.startswith(SHIFT_PREFIX):
        return find_player(scenario)

    async def play_shift(task: TaskView, call: Call) -> None:
        await ShiftPlayer(task, call, find_player).work()

    return play_shift


class CaseDoneError(Exception):
    """Ends the player of a case when it declares the outcome of its case."""


class _Case:
    """A case: the player of its scenario, which runs until it waits or is done."""

    def __init__(self, key: str, player: Player) -> None:
        self.key = key
        self.player = player
        self.wakes_at: datetime | None = None
        self.may_act = asyncio.Event()
        self.has_paused = asyncio.Event()


class ShiftPlayer:
    """Plays a shift: reads the queue, works the cases in the order of their due dates, and finishes."""

    def __init__(self, task: TaskView, call: Call, find_player: Callable[[str], Player]) -> None:
        self.task = task
        self.find_player = find_player
        self.now = task.now
        self._call = call
        self._client = ToolClient(self._step)

    async def work(self) -> None:
        """Work the queue and finish. Raises what the player of a case raises, unless it only gives up its case."""
        cases = [await self._open_case(row["key"]) for row in await self._queue()]
        try:
            async with asyncio.TaskGroup() as group:
                await self._work_cases({group.create_task(self._play(case)): case for case in cases})
        except ExceptionGroup as raised:
            raise raised.exceptions[0] from None
        await self._client.finish("done", "The queue is empty.")

    async def _work_cases(self, open_cases: dict[asyncio.Task[None], _Case]) -> None:
        while open_cases:
            await self._act_once(list(open_cases.values()))
            open_cases = {task: case for task, case in open_cases.items() if not task.done()}

    async def _queue(self) -> list[dict[str, Any]]:
        rows = await self._client.list_all("ticketdesk_list_tickets", tag=QUEUE_TAG)
        return sorted(rows, key=lambda row: str(row["due_at"]))

    async def _open_case(self, key: str) -> _Case:
        ticket = await self._client.call("ticketdesk_get_ticket", key=key)
        tags = frozenset(ticket["tags"]) - {QUEUE_TAG}
        return _Case(key, self.find_player(SCENARIOS_BY_TAGS[tags]))

    async def _act_once(self, cases: list[_Case]) -> None:
        """Let a case act until it pauses, or wait for the first that goes on later."""
        ready = [case for case in cases if case.wakes_at is None or case.wakes_at <= self.now]
        if not ready:
            until = min(case.wakes_at for case in cases if case.wakes_at is not None)
            await self._step("wait", {"minutes": -(-int((until - self.now).total_seconds()) // 60)})
            return
        case = ready[0]
        case.has_paused.clear()
        case.may_act.set()
        await case.has_paused.wait()

    async def _play(self, case: _Case) -> None:
        async def call(tool: str, arguments: dict[str, Any], /) -> StepView:
            if tool == "finish":
                raise CaseDoneError
            if tool == "wait":
                return await self._pause(case, arguments["minutes"])
            if "idempotency_key" in arguments:
                arguments = {**arguments, "idempotency_key": f"{case.key}-{arguments['idempotency_key']}"}
            return await self._step(tool, arguments)

        await case.may_act.wait()
        case.may_act.clear()
        try:
            await case.player(replace(self.task, brief=f"Please handle {case.key}."), call)
        except CaseDoneError:
            pass
        except EpisodeOverError:  # a player raises it to give up as well
            if self._last.done:
                raise
        finally:
            case.has_paused.set()

    async def _pause(self, case: _Case, minutes: int) -> StepView:
        """Let other cases act until the case has waited for so long."""
        since = self.now
        case.wakes_at = since + timedelta(minutes=minutes)
        case.has_paused.set()
        await case.may_act.wait()
        case.may_act.clear()
        case.wakes_at = None
        waited = int((self.now - since).total_seconds()) // 60
        return replace(self._last, result={"waited_minutes": waited}, error=None, reward=0.0, message=None)

    async def _step(self, tool: str, arguments: dict[str, Any]) -> StepView:
        self._last = await self._call(tool, arguments)
        self.now = self._last.now
        return self._last
