"""Players of shifts that lack one ability each, and players that only pretend to work."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

from companyos.policies import Call, StepView, TaskView
from companyos_players.player import Player
from companyos_players.registry import fair_player
from companyos_players.scenarios.project_selection import ADVERSARIES
from companyos_players.shift import (
    COMES_FIRST,
    IS_REPORTED,
    KNOWS_WHO,
    ONLY_IF,
    SAME_ASSIGNEE,
    SCENARIOS_BY_TAGS,
    TAKES_OVER,
    TAKES_TICKETS,
    TICKET_KEY,
    WITHDRAWN,
    ShiftPlayer,
    cancel,
    sort_of,
)
from companyos_players.tickets import TicketSkill
from companyos_players.tool_client import ToolClient, ToolRefusedError


class ReadsQueueOnce(ShiftPlayer):
    """Misses the tickets that are handed over later."""

    lacks = "handovers"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.complete_at = self.now


class CancelsKeptTickets(ShiftPlayer):
    """Also cancels the tickets that their teams keep."""

    lacks = "kept_tickets"

    def player_of(self, ticket: dict[str, Any], known: list[dict[str, Any]]) -> Player | None:
        """Return the player of a ticket; kept tickets are cancelled."""
        return super().player_of(ticket, known) or partial(cancel, ticket["key"], "withdrawn", ticket["key"])


class LeavesDuplicates(ShiftPlayer):
    """Leaves a ticket open if an older one is about the same thing."""

    lacks = "duplicates"

    def player_of(self, ticket: dict[str, Any], known: list[dict[str, Any]]) -> Player | None:
        """Return the player of a ticket, or None for a duplicate."""
        is_first = all(one["created_at"] >= ticket["created_at"] for one in known if sort_of(one) == sort_of(ticket))
        return super().player_of(ticket, known) if is_first else None


class ForgetsFreeze(ShiftPlayer):
    """Resolves tickets during the freeze."""

    lacks = "freeze"

    async def read_policy(self) -> None:
        """Do not read the policy."""


class ReadsPolicyOnce(ShiftPlayer):
    """Misses that the policy of the desk changes."""

    lacks = "policy_change"

    async def read_policy(self) -> None:
        """Read the policy, and never again."""
        if not self._known:
            await super().read_policy()
        self.policy_read_at = self.frozen_until


class OverlooksComments(ShiftPlayer):
    """Overlooks the comments that match given patterns."""

    overlooked: tuple[re.Pattern[str], ...] = ()
    """Patterns of the overlooked comments."""

    async def comments(self, key: str) -> list[dict[str, Any]]:
        """Return the comments under a ticket without the overlooked ones."""
        rows = await super().comments(key)
        return [row for row in rows if not any(one.search(row["body"]) for one in self.overlooked)]


class ReportsNoApprovals(OverlooksComments):
    """Does not report the approval of another ticket."""

    lacks, overlooked = "reported_approval", (IS_REPORTED,)


class AssignsAnybody(OverlooksComments):
    """Assigns any member of the team who is at work, whatever the team says."""

    lacks, overlooked = "sole_assignee", (TAKES_TICKETS, KNOWS_WHO)


class AsksNobody(OverlooksComments):
    """Assigns any member of the team who is at work instead of asking a colleague."""

    lacks, overlooked = "question", (KNOWS_WHO,)


class IgnoresOtherAssignee(OverlooksComments):
    """Does not look up who is assigned to another ticket."""

    lacks, overlooked = "same_assignee", (SAME_ASSIGNEE,)


class MissesReassignment(OverlooksComments):
    """Misses that somebody takes over a ticket in the meantime."""

    lacks, overlooked = "reassignment", (TAKES_OVER,)


class IgnoresWithdrawal(OverlooksComments):
    """Works on a ticket that was withdrawn."""

    lacks, overlooked = "withdrawal", (WITHDRAWN,)


class LetsAnybodyWithdraw(ShiftPlayer):
    """Cancels a ticket that anybody calls withdrawn."""

    lacks = "withdrawal"

    def withdrawals(self, comments: list[dict[str, Any]]) -> dict[str, str]:
        """Return the tickets that any comment withdraws, each with the ticket that the comment cites."""
        return {found[1]: found[2] for one in comments if (found := WITHDRAWN.search(one["body"])) is not None}


class IgnoresCondition(OverlooksComments):
    """Works on a ticket that is only needed if another one is completed, although that one was refused."""

    lacks, overlooked = "condition", (ONLY_IF,)


class SetsPriorityOnce(ShiftPlayer):
    """Does not read the priority of a ticket again once it is verified."""

    lacks = "changed_priority"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._verified: set[str] = set()

    async def step(self, tool: str, arguments: dict[str, Any]) -> StepView:
        """Make a call, unless it changes the priority of a verified ticket."""
        if tool == "ticketdesk_verify_ticket":
            self._verified.add(arguments["key"])
        if tool == "ticketdesk_update_ticket" and arguments["key"] in self._verified:
            return replace(self._last, result={}, error=None, reward=0.0, message=None)
        return await super().step(tool, arguments)


class TakesFirstSelection(ShiftPlayer):
    """Selects projects one after the other while the selection stays valid, instead of making the best selection."""

    lacks = "best_selection"

    def __init__(self, task: TaskView, call: Call, find_player: Callable[[str], Player]) -> None:
        def find(scenario: str) -> Player:
            return ADVERSARIES["take_first_fit"] if scenario == "project_selection" else find_player(scenario)

        super().__init__(task, call, find)


class OneAtATime(ShiftPlayer):
    """Waits until a case can continue instead of working on another one."""

    async def pause(self, case: Any, minutes: int) -> StepView:
        """Wait; work on another case only if that one has to end first."""
        if case.waits_for is not None:
            return await super().pause(case, minutes)
        until = self.now + timedelta(minutes=minutes)
        view = await self.wait_until(until)
        while self.now < until:
            view = await self.wait_until(until)
        return view


class IgnoresOrder(OverlooksComments, OneAtATime):
    """Works one case at a time, and ends a ticket before another one that has to end first."""

    lacks, overlooked = "order", (COMES_FIRST,)


class IgnoresBankChange(OneAtATime):
    """Works one case at a time, and completes an invoice before a change of its vendor's bank details has ended."""

    lacks = "bank_change"

    async def find_bank_change(self, key: str) -> str | None:
        """Return None: there is no ticket to wait for."""
        return None


class ResolvesEverything(ShiftPlayer):
    """Resolves every ticket of the queue without doing any work."""

    def player_of(self, ticket: dict[str, Any], known: list[dict[str, Any]]) -> Player | None:
        """Return a player that resolves the ticket."""
        return _resolve if sort_of(ticket) in SCENARIOS_BY_TAGS else None


class CancelsEverything(ShiftPlayer):
    """Cancels every ticket of the queue as withdrawn."""

    def player_of(self, ticket: dict[str, Any], known: list[dict[str, Any]]) -> Player | None:
        """Return a player that cancels the ticket."""
        is_own, key = sort_of(ticket) in SCENARIOS_BY_TAGS, ticket["key"]
        return partial(cancel, key, "withdrawn", key) if is_own else None


class CancelsAsDuplicates(ShiftPlayer):
    """Cancels every ticket of the queue but the first as a duplicate of it."""

    def player_of(self, ticket: dict[str, Any], known: list[dict[str, Any]]) -> Player | None:
        """Return a player that cancels the ticket, or None for the first one."""
        first = known[0]["key"]
        is_other = ticket["key"] != first and sort_of(ticket) in SCENARIOS_BY_TAGS
        return partial(cancel, ticket["key"], "duplicate", first) if is_other else None


async def _resolve(task: TaskView, call: Call) -> None:
    (key,) = TICKET_KEY.findall(task.brief)
    ticket = TicketSkill(ToolClient(call), key)
    await ticket.read()
    await ticket.triage()
    with suppress(ToolRefusedError):
        await ticket.transition("in_progress")
    with suppress(ToolRefusedError):
        await ticket.transition("resolved")


def shift_player(ability: type[ShiftPlayer]) -> Player:
    """Return a player of shifts that works each case with the oracle of its scenario."""

    async def play(task: TaskView, call: Call) -> None:
        await ability(task, call, fair_player).work()

    return play


ONE_AT_A_TIME = "works one case at a time"
ABLATIONS: Mapping[str, type[ShiftPlayer]] = MappingProxyType(
    {
        "reads the queue once": ReadsQueueOnce,
        "cancels tickets that their team keeps": CancelsKeptTickets,
        "leaves duplicates open": LeavesDuplicates,
        "forgets the freeze": ForgetsFreeze,
        "reads the policy once": ReadsPolicyOnce,
        "ignores which ticket comes first": IgnoresOrder,
        "reports no approvals": ReportsNoApprovals,
        "assigns anybody": AssignsAnybody,
        "asks nobody": AsksNobody,
        "ignores who has the other ticket": IgnoresOtherAssignee,
        "misses a reassignment": MissesReassignment,
        "ignores a withdrawal": IgnoresWithdrawal,
        "lets anybody withdraw": LetsAnybodyWithdraw,
        "ignores a condition": IgnoresCondition,
        "sets the priority once": SetsPriorityOnce,
        "ignores a bank change": IgnoresBankChange,
        "makes a valid selection": TakesFirstSelection,
        ONE_AT_A_TIME: OneAtATime,
    }
)
"""Players by the behavior that results from their missing ability."""

SHIFT_ADVERSARIES: Mapping[str, Player] = MappingProxyType(
    {
        "resolves everything": shift_player(ResolvesEverything),
        "cancels everything": shift_player(CancelsEverything),
        "cancels everything as duplicates": shift_player(CancelsAsDuplicates),
    }
)
"""Players that end the tickets of the queue without working on them."""
