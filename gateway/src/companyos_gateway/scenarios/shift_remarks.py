"""Relations between tickets of a shift: order, reported approvals, withdrawals and conditions.

Comments state them, and in one case a policy.
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
"""Period from the start in which a reporter who withdraws a ticket is present."""

MIN_RELATED = 2
"""Minimum number of later handovers for a withdrawal or a condition, so that other tickets remain."""


@dataclass(frozen=True)
class QueuedCase:
    """A case of a shift with its ticket, and the time of its handover, if any."""

    case: ScenarioCase
    ticket: TicketRow
    handed_over_at: datetime | None
    candidate_ids: tuple[str, ...]
    """Possible assignees of the ticket who are not involved in a case, by ID."""

    @property
    def is_resolved(self) -> bool:
        """Return whether the case has to end with a resolved ticket."""
        return self.case.refusal is None and self.case.end_status == "resolved"


Pair = tuple[QueuedCase, QueuedCase]


@dataclass(frozen=True)
class Withdrawal:
    """The comment that makes a ticket unnecessary; its cancellation refers to the ticket `key`."""

    key: str
    comment_id: str


@dataclass
class Remarks:
    """The demands that comments and the policy on invoices make, by entry ticket."""

    predecessors: dict[str, Remark] = field(default_factory=dict)
    reported: dict[str, Remark] = field(default_factory=dict)
    takers: dict[str, str] = field(default_factory=dict)
    """The only person who may be assigned to a ticket."""
    withdrawals: dict[str, Withdrawal] = field(default_factory=dict)
    conditions: dict[str, Withdrawal] = field(default_factory=dict)
    """Comments that make tickets unnecessary because another one has to be refused."""
    disputed: set[str] = field(default_factory=set)
    """Tickets that are called withdrawn by someone who cannot withdraw them."""
    features: defaultdict[str, set[Feature]] = field(default_factory=lambda: defaultdict(set))
    """Features that decide whether the agent succeeds."""
    commented_at: list[datetime] = field(default_factory=list)


def add_bank_change(world: WorldBuilder, invoice: QueuedCase, change: QueuedCase, remarks: Remarks) -> None:
    """Let the ticket of an invoice wait for the ticket that changes its vendor's bank details."""
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
    """Plan comments that relate tickets of the queue; those that wait for others are due on `due_from` or later."""
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
    """Plan that the reporter of a ticket that is handed over later withdraws it, in a comment under another ticket.

    Under a further ticket, someone who cannot withdraw it asks for the end of another one.
    """
    if len(late) < MIN_RELATED:
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
    remarks.commented_at.append(comment.at)
    remarks.withdrawals[key] = Withdrawal(place.ticket.key, comment.id)
    remarks.features[key].add(Feature.WITHDRAWAL)
    others = [one.ticket for one in late if one is not withdrawn]
    other, team_ids = stream.choice(others), {one.id: one.team_id for one in world.staff.people}
    involved = {other.team_id, other_place.ticket.team_id}
    bystanders = [one for one in sorted(present - {other.reporter_id}) if team_ids[one] not in involved]
    if bystanders:
        comment = plan_remark(world, stream, other_place.ticket, "withdrawn", authors=bystanders, other=other.key)
        remarks.commented_at.append(comment.at)
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
    """Plan comments that make a ticket depend on the completion of another: of a refused and of a resolved one."""
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
        if len(late) < MIN_RELATED or not found:
            continue
        one, other = stream.choice(found)
        key, other_key = one.ticket.key, other.ticket.key
        comment = plan_remark(world, stream, one.ticket, "condition", authors=[one.ticket.reporter_id], other=other_key)
        remarks.commented_at.append(comment.at)
        remarks.predecessors[key] = Remark(other_key, comment.at + REMARK_GRACE)
        if is_refused:
            remarks.conditions[key] = Withdrawal(other_key, comment.id)
            remarks.features[key].add(Feature.CONDITION)


def _waited_for(remarks: Remarks) -> set[str]:
    """Return the tickets that others wait for."""
    return {one.key for one in remarks.predecessors.values()}


def _present(world: WorldBuilder) -> set[str]:
    """Return the IDs of the people present in the first days, except the agent."""
    return {one.id for one in world.present(world.today, world.today + REPORTER_DAYS)} - {world.agent_id}


def _add_order(world: WorldBuilder, stream: Stream, pairs: Sequence[Pair], remarks: Remarks) -> None:
    """Plan that a team asks to end its ticket after another one, which is later in the queue and by due date.

    A second comment asks to wait for a ticket that has to be refused, so that predecessors may end either way.
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
    """Plan that a team asks for the approval of another ticket, unless its own ticket has to wait for another one.

    A second comment is about tickets of which one has to be refused, and has no effect.
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
    """Plan a comment by a ticket's team about another ticket, and return the remark."""
    comment = plan_remark(world, stream, one.ticket, kind, other=other.ticket.key)
    remarks.commented_at.append(comment.at)
    return Remark(other.ticket.key, comment.at + REMARK_GRACE)
