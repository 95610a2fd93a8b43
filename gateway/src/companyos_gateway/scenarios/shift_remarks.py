"""Relations of the tickets of a shift: which one comes first, whose approval is reported, what is withdrawn.

Comments say so, and in one case a policy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import product

from companyos_gateway.evaluation.shift_rubric import Remark
from companyos_gateway.scenarios.blocks.colleague_events import plan_remark
from companyos_gateway.scenarios.blocks.task import ScenarioCase
from companyos_gateway.scenarios.shift_features import Feature
from companyos_gateway.world import WorldBuilder
from companyos_gateway.world.seed_documents.ticketdesk import TicketRow
from companyos_shared.streams import Stream

REMARK_GRACE = timedelta(minutes=60)
"""Time after a comment in which a ticket may still end without regard to it."""

REPORTER_DAYS = timedelta(days=4)
"""Days from the start in which somebody who withdraws a ticket is at work."""

LEAST_RELATED = 2
"""The least number of tickets handed over later of which one is withdrawn or has a condition: others are left."""


@dataclass(frozen=True)
class QueuedCase:
    """A case of a shift with its ticket, and when that is handed over if it is."""

    case: ScenarioCase
    ticket: TicketRow
    handed_over_at: datetime | None
    candidate_ids: tuple[str, ...]
    """Who may be assigned to the ticket and is not involved in a case, by ID."""

    @property
    def is_resolved(self) -> bool:
        """Return whether the right end of the case is that its ticket is resolved."""
        return self.case.refusal is None and self.case.end_status == "resolved"


Pair = tuple[QueuedCase, QueuedCase]


@dataclass(frozen=True)
class Withdrawal:
    """The comment because of which a ticket is not needed; the ticket `key` is the reference of its cancellation."""

    key: str
    comment_id: str


@dataclass
class Remarks:
    """The demands that comments and the policy on invoices make, by entry ticket."""

    predecessors: dict[str, Remark] = field(default_factory=dict)
    reported: dict[str, Remark] = field(default_factory=dict)
    takers: dict[str, str] = field(default_factory=dict)
    """Who alone may be assigned to a ticket."""
    withdrawals: dict[str, Withdrawal] = field(default_factory=dict)
    conditions: dict[str, Withdrawal] = field(default_factory=dict)
    """Tickets that are not needed because another one has to be refused."""
    disputed: set[str] = field(default_factory=set)
    """Tickets that somebody calls withdrawn who has no say in it."""
    features: defaultdict[str, set[Feature]] = field(default_factory=lambda: defaultdict(set))
    """What an agent has to heed lest it fails."""
    said_at: list[datetime] = field(default_factory=list)


def add_bank_change(world: WorldBuilder, invoice: QueuedCase, change: QueuedCase, remarks: Remarks) -> None:
    """Let the ticket of an invoice wait for the ticket that changes the bank details of its vendor."""
    key = invoice.ticket.key
    remarks.predecessors[key] = Remark(change.ticket.key, world.started_at)
    is_later = change.handed_over_at is not None and change.case.due_on >= invoice.case.due_on
    if invoice.handed_over_at is None and is_later and change.is_resolved:
        remarks.features[key].add(Feature.BANK_CHANGE)


def add_relations(
    world: WorldBuilder,
    stream: Stream,
    cases: Sequence[QueuedCase],
    features: Collection[Feature],
    due_from: date,
    remarks: Remarks,
) -> None:
    """Let colleagues relate tickets of the queue; those that wait for others are due on `due_from` or later."""
    first = [one for one in cases if one.handed_over_at is None]
    late = [one for one in cases if one.handed_over_at is not None]
    if Feature.WITHDRAWAL in features:
        _add_withdrawal(world, stream.child("withdrawal"), first, late, remarks)
        late = [one for one in late if one.ticket.key not in remarks.withdrawals]
    if Feature.CONDITION in features:
        _add_conditions(world, stream.child("condition"), first, late, due_from, remarks)
    late = [one for one in late if one.ticket.key not in remarks.predecessors]
    free = [one for one in first if one.case.due_on >= due_from and one.ticket.key not in remarks.predecessors]
    pairs = list(product(free, late))
    if Feature.ORDER in features:
        _add_order(world, stream.child("order"), pairs, remarks)
    if Feature.REPORTED_APPROVAL in features:
        _add_report(world, stream.child("report"), pairs, remarks)


def _add_withdrawal(
    world: WorldBuilder, stream: Stream, first: Sequence[QueuedCase], late: Sequence[QueuedCase], remarks: Remarks
) -> None:
    """Let the person who reported a ticket that is handed over later withdraw it under another ticket of the queue.

    Under a further one, somebody who has no say in it asks for the end of another ticket.
    """
    if len(late) < LEAST_RELATED:
        return
    present, related = _present(world), {*remarks.predecessors, *_waited_for(remarks)}
    free = [one for one in late if one.is_resolved and one.ticket.key not in related]
    decisive = [one for one in free if one.ticket.reporter_id in present]
    if not decisive:
        return
    withdrawn, places = stream.choice(decisive), stream.shuffled(first)
    place, *_, other_place = sorted(places, key=lambda one: not one.is_resolved)
    key, reporter_id = withdrawn.ticket.key, withdrawn.ticket.reporter_id
    comment = plan_remark(world, stream, place.ticket, "withdrawn", authors=[reporter_id], other=key)
    remarks.said_at.append(comment.at)
    remarks.withdrawals[key] = Withdrawal(place.ticket.key, comment.id)
    remarks.features[key].add(Feature.WITHDRAWAL)
    others = [one.ticket for one in late if one is not withdrawn]
    other, team_ids = stream.choice(others), {one.id: one.team_id for one in world.staff.people}
    involved = {other.team_id, other_place.ticket.team_id}
    bystanders = [one for one in sorted(present - {other.reporter_id}) if team_ids[one] not in involved]
    if bystanders:
        comment = plan_remark(world, stream, other_place.ticket, "withdrawn", authors=bystanders, other=other.key)
        remarks.said_at.append(comment.at)
        remarks.disputed.add(other.key)
        remarks.features[other.key].add(Feature.WITHDRAWAL)


def _add_conditions(
    world: WorldBuilder,
    stream: Stream,
    first: Sequence[QueuedCase],
    late: Sequence[QueuedCase],
    due_from: date,
    remarks: Remarks,
) -> None:
    """Let people need what they reported only if another ticket is completed: one that is, and one that is refused."""
    present = _present(world)
    possible = [one for one in late if one.is_resolved and one.case.due_on >= due_from]
    taken = remarks.disputed | _waited_for(remarks)
    free = [one for one in possible if one.ticket.key not in taken and one.ticket.reporter_id in present]
    for is_refused in (True, False):
        found = [
            (one, other)
            for one, other in product(free, first)
            if one.ticket.key not in remarks.predecessors
            and (other.case.refusal is not None if is_refused else other.is_resolved)
        ]
        if len(late) < LEAST_RELATED or not found:
            continue
        one, other = stream.choice(found)
        key, other_key = one.ticket.key, other.ticket.key
        comment = plan_remark(world, stream, one.ticket, "condition", authors=[one.ticket.reporter_id], other=other_key)
        remarks.said_at.append(comment.at)
        remarks.predecessors[key] = Remark(other_key, comment.at + REMARK_GRACE)
        if is_refused:
            remarks.conditions[key] = Withdrawal(other_key, comment.id)
            remarks.features[key].add(Feature.CONDITION)


def _waited_for(remarks: Remarks) -> set[str]:
    """Return the tickets that others wait for."""
    return {one.key for one in remarks.predecessors.values()}


def _present(world: WorldBuilder) -> set[str]:
    """Return who is at work for the first days, besides the agent."""
    return {one.id for one in world.present(world.today, world.today + REPORTER_DAYS)} - {world.agent_id}


def _add_order(world: WorldBuilder, stream: Stream, pairs: Sequence[Pair], remarks: Remarks) -> None:
    """Let a team ask that its ticket ends after another one, which comes later in the queue and by due date.

    A second comment asks to wait for a ticket that has to be refused, so that a ticket which is waited for may end
    either way.
    """
    decisive = [
        (one, other)
        for one, other in pairs
        if one.is_resolved and other.is_resolved and other.case.due_on > one.case.due_on
    ]
    others = [(one, other) for one, other in pairs if one.is_resolved and other.case.refusal is not None]
    if decisive:
        one, other = stream.choice(decisive)
        remarks.predecessors[one.ticket.key] = _relate(world, stream, "predecessor", one, other, remarks)
        remarks.features[one.ticket.key].add(Feature.ORDER)
    free = [pair for pair in others if pair[0].ticket.key not in remarks.predecessors]
    if free:
        one, other = stream.choice(free)
        remarks.predecessors[one.ticket.key] = _relate(world, stream, "predecessor", one, other, remarks)


def _add_report(world: WorldBuilder, stream: Stream, pairs: Sequence[Pair], remarks: Remarks) -> None:
    """Let a team ask for the approval of another ticket, unless its own ticket has to wait for another one anyway.

    A second comment is about tickets of which one has to be refused, and asks for nothing.
    """
    free = [(one, other) for one, other in pairs if one.ticket.key not in remarks.predecessors]
    decisive = [(one, other) for one, other in free if one.is_resolved and other.is_resolved and _has_approval(other)]
    if decisive:
        one, other = stream.choice(decisive)
        remarks.reported[one.ticket.key] = _relate(world, stream, "reported", one, other, remarks)
        remarks.features[one.ticket.key].add(Feature.REPORTED_APPROVAL)
    others = [
        (one, other)
        for one, other in free
        if one.ticket.key not in remarks.reported and (one.case.refusal or other.case.refusal)
    ]
    if others:
        _relate(world, stream, "reported", *stream.choice(others), remarks)


def _has_approval(queued: QueuedCase) -> bool:
    return bool(queued.case.outcome.requests)


def _relate(
    world: WorldBuilder, stream: Stream, kind: str, one: QueuedCase, other: QueuedCase, remarks: Remarks
) -> Remark:
    """Let the team of a ticket say something about another one."""
    comment = plan_remark(world, stream, one.ticket, kind, other=other.ticket.key)
    remarks.said_at.append(comment.at)
    return Remark(other.ticket.key, comment.at + REMARK_GRACE)
