"""The player of shifts: it works one case while others wait, each with a player of its scenario."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

from companyos.policies import Call, EpisodeOverError, StepView, TaskView
from companyos_players.player import Player
from companyos_players.tickets import TicketSkill
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


MAX_WAIT_MINUTES = 10_080
"""The most that `wait` accepts."""

UNCHANGING = ("approvalflow_list_approval_types", "datahub_get_calendar")
"""Tools that show what does not change during a shift."""

SHIFT_PREFIX = "shift-"
"""Names of shifts start with this."""


def player_for(scenario: str, find_player: Callable[[str], Player]) -> Player:
    """Return the player of a scenario, or of a shift with the players of its cases."""
    if not scenario.startswith(SHIFT_PREFIX):
        return find_player(scenario)

    async def play_shift(task: TaskView, call: Call) -> None:
        await ShiftPlayer(task, call, find_player).work()

    return play_shift


_MOMENT = r"\w+, (\d+ \w+ \d{4}, \d\d:\d\d)"

FROZEN = frozenset({"resolved", "closed"})
"""Statuses that no ticket gets during the freeze."""

MARGIN = timedelta(minutes=60)
"""More than a call takes."""


def _moments(brief: str, pattern: str) -> list[datetime]:
    """Return the moments that a brief names."""
    found = re.search(pattern.format(moment=_MOMENT), brief)
    assert found is not None, brief
    return [datetime.strptime(one, "%d %B %Y, %H:%M").replace(tzinfo=UTC) for one in found.groups()]


def sort_of(ticket: Mapping[str, Any]) -> frozenset[str]:
    """Return the tags of a ticket besides that of the queue, which say what sort of work it is."""
    return frozenset(ticket["tags"]) - {QUEUE_TAG}


async def _cancel_duplicate(key: str, original: str, _task: TaskView, call: Call) -> None:
    ticket = TicketSkill(ToolClient(call), key)
    await ticket.read()
    await ticket.triage()
    await ticket.transition("cancelled", reason_code="duplicate", reason_ref=original)


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
    """Plays a shift: reads the queue, works the cases in the order of their due dates, and finishes.

    It reads the queue again once no more tickets are handed over.
    """

    def __init__(self, task: TaskView, call: Call, find_player: Callable[[str], Player]) -> None:
        self.task = task
        self.find_player = find_player
        self.now = task.now
        (self.complete_at,) = _moments(task.brief, "tickets until {moment}")
        """When the queue is complete."""
        self.freeze = _moments(task.brief, "migrated from {moment} to {moment} UTC")
        """The time in which no ticket may be completed."""
        self._call = call
        self._shown: dict[tuple[str, tuple[tuple[str, Any], ...]], StepView] = {}
        self._client = ToolClient(self.step)

    async def work(self) -> None:
        """Work the queue and finish. Raises what the player of a case raises, unless it only gives up its case."""
        try:
            async with asyncio.TaskGroup() as group:
                await self._work_queue(group)
        except ExceptionGroup as raised:
            raise raised.exceptions[0] from None
        await self._client.finish("done", "The queue is empty.")

    async def _work_queue(self, group: asyncio.TaskGroup) -> None:
        open_cases: dict[asyncio.Task[None], _Case] = {}
        known: dict[str, dict[str, Any]] = {}
        is_complete, must_read = False, True
        while open_cases or not is_complete:
            if must_read:
                is_complete = self.now >= self.complete_at
                for case in self._new_cases(await self._new_tickets(known), known):
                    open_cases[group.create_task(self._play(case))] = case
            await self._act_once(list(open_cases.values()), None if is_complete else self.complete_at)
            open_cases = {task: case for task, case in open_cases.items() if not task.done()}
            must_read = not is_complete and self.now >= self.complete_at

    async def _new_tickets(self, known: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
        """Add the tickets of the queue that were not known, and return them in the order of their due dates."""
        rows = await self._client.list_all("ticketdesk_list_tickets", tag=QUEUE_TAG)
        new = [row["key"] for row in rows if row["key"] not in known]
        known |= {key: await self._client.call("ticketdesk_get_ticket", key=key) for key in new}
        return sorted((known[key] for key in new), key=lambda ticket: str(ticket["due_at"]))

    def _new_cases(self, tickets: list[dict[str, Any]], known: dict[str, dict[str, Any]]) -> list[_Case]:
        found = {ticket["key"]: self.player_of(ticket, list(known.values())) for ticket in tickets}
        return [_Case(key, player) for key, player in found.items() if player is not None]

    def player_of(self, ticket: dict[str, Any], known: list[dict[str, Any]]) -> Player | None:
        """Return who works a ticket, given all tickets of the queue; None for one that is not the desk's."""
        scenario = SCENARIOS_BY_TAGS.get(sort_of(ticket))
        if scenario is None:
            return None
        alike = [one for one in known if sort_of(one) == sort_of(ticket)]
        oldest = min(alike, key=lambda one: str(one["created_at"]))["key"]
        is_first = oldest == ticket["key"]
        return self.find_player(scenario) if is_first else partial(_cancel_duplicate, ticket["key"], oldest)

    async def _act_once(self, cases: list[_Case], complete_at: datetime | None) -> None:
        """Let a case act until it pauses, or wait for the first that goes on later or for the queue."""
        ready = [case for case in cases if case.wakes_at is None or case.wakes_at <= self.now]
        if not ready:
            moments = [*(case.wakes_at for case in cases), complete_at]
            until = min((at for at in moments if at is not None), default=self.now)
            if until > self.now:
                await self.wait_until(until)
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
                return await self.pause(case, arguments["minutes"])
            if self.must_wait(case.key, arguments):
                await self.pause(case, -(-int((self.freeze[1] - self.now).total_seconds()) // 60))
            if tool in UNCHANGING:
                return await self._read_once(tool, arguments)
            if "idempotency_key" in arguments:
                arguments = {
                    **arguments,
                    "idempotency_key": f"{case.key}-{arguments['idempotency_key']}",
                }
            return await self.step(tool, arguments)

        await case.may_act.wait()
        case.may_act.clear()
        task = replace(self.task, brief=f"Please handle {case.key}.")
        try:
            await case.player(task, call)
        except CaseDoneError:
            pass
        except EpisodeOverError:  # a player raises it to give up as well
            if self._last.done:
                raise
        finally:
            case.has_paused.set()

    def must_wait(self, key: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether a call for a case has to wait until the freeze ends."""
        return arguments.get("to") in FROZEN and self.freeze[0] - MARGIN < self.now < self.freeze[1]

    async def pause(self, case: _Case, minutes: int) -> StepView:
        """Let other cases act until the case has waited for so long."""
        since = self.now
        case.wakes_at = since + timedelta(minutes=minutes)
        case.has_paused.set()
        await case.may_act.wait()
        case.may_act.clear()
        case.wakes_at = None
        waited = int((self.now - since).total_seconds()) // 60
        return replace(self._last, result={"waited_minutes": waited}, error=None, reward=0.0, message=None)

    async def _read_once(self, tool: str, arguments: dict[str, Any]) -> StepView:
        """Return what a tool showed before, of what does not change during a shift."""
        call = tool, tuple(sorted(arguments.items()))
        if call not in self._shown:
            view = await self.step(tool, arguments)
            if view.is_refused:
                return view
            self._shown[call] = view
        return replace(self._last, result=self._shown[call].result, error=None, reward=0.0, message=None)

    async def wait_until(self, until: datetime) -> StepView:
        """Let time pass, or as much of it as one call may."""
        minutes = -(-int((until - self.now).total_seconds()) // 60)
        return await self.step("wait", {"minutes": min(minutes, MAX_WAIT_MINUTES)})

    async def step(self, tool: str, arguments: dict[str, Any]) -> StepView:
        self._last = await self._call(tool, arguments)
        self.now = self._last.now
        return self._last
