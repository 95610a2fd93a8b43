"""Players of shifts that lack one ability each, and players that only seem to work."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

from companyos.policies import Call, StepView, TaskView
from companyos_players.player import Player
from companyos_players.registry import fair_player
from companyos_players.shift import (
    COMES_FIRST,
    IS_REPORTED,
    KNOWS_WHO,
    SCENARIOS_BY_TAGS,
    TAKES_TICKETS,
    TICKET_KEY,
    ShiftPlayer,
    cancel_duplicate,
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
    """Also brings the tickets that their teams keep to an end."""

    lacks = "kept_tickets"

    def player_of(self, ticket: dict[str, Any], known: list[dict[str, Any]]) -> Player | None:
        """Return who works a ticket."""
        return super().player_of(ticket, known) or partial(_cancel, ticket["key"])


class LeavesDuplicates(ShiftPlayer):
    """Leaves a ticket open if an older one is about the same thing."""

    lacks = "duplicates"

    def player_of(self, ticket: dict[str, Any], known: list[dict[str, Any]]) -> Player | None:
        """Return who works a ticket."""
        is_first = all(one["created_at"] >= ticket["created_at"] for one in known if sort_of(one) == sort_of(ticket))
        return super().player_of(ticket, known) if is_first else None


class ForgetsFreeze(ShiftPlayer):
    """Resolves tickets while that is not allowed."""

    lacks = "freeze"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.frozen_until = self.now


class ReportsNoApprovals(ShiftPlayer):
    """Does not say which approval another ticket got."""

    lacks = "reported_approval"

    async def comments(self, key: str) -> list[str]:
        """Return the texts of the comments under a ticket, without what they ask to report."""
        return [text for text in await super().comments(key) if not IS_REPORTED.search(text)]


class AssignsAnybody(ShiftPlayer):
    """Assigns any member of the team who is at work, whatever the team says."""

    lacks = "sole_assignee"

    async def comments(self, key: str) -> list[str]:
        """Return the texts of the comments under a ticket, without what they say about who takes tickets."""
        patterns = (TAKES_TICKETS, KNOWS_WHO)
        return [text for text in await super().comments(key) if not any(one.search(text) for one in patterns)]


class AsksNobody(ShiftPlayer):
    """Assigns any member of the team who is at work where a colleague would have to be asked."""

    lacks = "question"

    async def comments(self, key: str) -> list[str]:
        """Return the texts of the comments under a ticket, without what they say about whom to ask."""
        return [text for text in await super().comments(key) if not KNOWS_WHO.search(text)]


class OneAtATime(ShiftPlayer):
    """Waits until a case goes on instead of working on another one."""

    async def pause(self, case: Any, minutes: int) -> StepView:
        """Wait; work on another case only where that one has to end first."""
        if case.waits_for is not None:
            return await super().pause(case, minutes)
        until = self.now + timedelta(minutes=minutes)
        view = await self.wait_until(until)
        while self.now < until:
            view = await self.wait_until(until)
        return view


class IgnoresOrder(OneAtATime):
    """Works one case at a time, and ends a ticket before another one that has to come first."""

    lacks = "order"

    async def comments(self, key: str) -> list[str]:
        """Return the texts of the comments under a ticket, without what they say about its order."""
        return [text for text in await super().comments(key) if not COMES_FIRST.search(text)]


class ResolvesEverything(ShiftPlayer):
    """Resolves every ticket of the queue without doing any work."""

    def player_of(self, ticket: dict[str, Any], known: list[dict[str, Any]]) -> Player | None:
        """Return who works a ticket."""
        return _resolve if sort_of(ticket) in SCENARIOS_BY_TAGS else None


class CancelsEverything(ShiftPlayer):
    """Cancels every ticket of the queue as withdrawn."""

    def player_of(self, ticket: dict[str, Any], known: list[dict[str, Any]]) -> Player | None:
        """Return who works a ticket."""
        return partial(_cancel, ticket["key"]) if sort_of(ticket) in SCENARIOS_BY_TAGS else None


class CancelsAsDuplicates(ShiftPlayer):
    """Cancels every ticket of the queue but the first as a duplicate of it."""

    def player_of(self, ticket: dict[str, Any], known: list[dict[str, Any]]) -> Player | None:
        """Return who works a ticket."""
        first = known[0]["key"]
        is_other = ticket["key"] != first and sort_of(ticket) in SCENARIOS_BY_TAGS
        return partial(cancel_duplicate, ticket["key"], first) if is_other else None


async def _resolve(task: TaskView, call: Call) -> None:
    (key,) = TICKET_KEY.findall(task.brief)
    ticket = TicketSkill(ToolClient(call), key)
    await ticket.read()
    await ticket.triage()
    with suppress(ToolRefusedError):
        await ticket.transition("in_progress")
    with suppress(ToolRefusedError):
        await ticket.transition("resolved")


async def _cancel(key: str, _task: TaskView, call: Call) -> None:
    await TicketSkill(ToolClient(call), key).transition("cancelled", reason_code="withdrawn", reason_ref=key)


def shift_player(ability: type[ShiftPlayer]) -> Player:
    """Return a player of shifts, which works the cases with the oracle of each scenario."""

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
        "ignores which ticket comes first": IgnoresOrder,
        "reports no approvals": ReportsNoApprovals,
        "assigns anybody": AssignsAnybody,
        "asks nobody": AsksNobody,
        ONE_AT_A_TIME: OneAtATime,
    }
)
"""What a player does for want of an ability."""

SHIFT_ADVERSARIES: Mapping[str, Player] = MappingProxyType(
    {
        "resolves everything": shift_player(ResolvesEverything),
        "cancels everything": shift_player(CancelsEverything),
        "cancels everything as duplicates": shift_player(CancelsAsDuplicates),
    }
)
"""Players that end the tickets of the queue without working on them."""
