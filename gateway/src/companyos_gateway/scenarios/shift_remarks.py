"""Comments with which teams ask for something during a shift: an order, an approval's ID, or an assignee."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import product

from companyos_gateway.evaluation.shift_rubric import Remark
from companyos_gateway.scenarios.blocks.colleague_events import plan_answer, plan_remark
from companyos_gateway.scenarios.blocks.task import ScenarioCase
from companyos_gateway.scenarios.shift_features import Feature
from companyos_gateway.world import WorldBuilder
from companyos_gateway.world.seed_documents.ticketdesk import TicketRow
from companyos_shared.streams import Stream

REMARK_GRACE = timedelta(minutes=60)
"""Time after a comment in which a ticket may still end without regard to it."""

ANSWER_DAYS = timedelta(days=7)
"""Days from the start in which a colleague who has to be asked is at work."""

LEAST_CANDIDATES = 4
"""The least number of people among whom one is the only one who takes tickets."""


@dataclass(frozen=True)
class QueuedCase:
    """A case of a shift with its ticket, and when that is handed over if it is."""

    case: ScenarioCase
    ticket: TicketRow
    handed_over_at: datetime | None

    @property
    def is_resolved(self) -> bool:
        """Return whether the right end of the case is that its ticket is resolved."""
        return self.case.refusal is None and self.case.end_status == "resolved"


Pair = tuple[QueuedCase, QueuedCase]


@dataclass
class Remarks:
    """The demands that the comments make, by entry ticket."""

    predecessors: dict[str, Remark] = field(default_factory=dict)
    ordered: set[str] = field(default_factory=set)
    """Tickets that would end before their predecessor in the order of the queue and of due dates."""
    reported: dict[str, Remark] = field(default_factory=dict)
    takers: dict[str, str] = field(default_factory=dict)
    """Who alone may be assigned to a ticket."""
    questions: set[str] = field(default_factory=set)
    """Tickets whose assignee has to be asked for."""
    said_at: list[datetime] = field(default_factory=list)


def add_remarks(
    world: WorldBuilder,
    stream: Stream,
    cases: Sequence[QueuedCase],
    kept: Sequence[TicketRow],
    features: Collection[Feature],
    due_from: date,
) -> Remarks:
    """Let teams comment on tickets of the queue; those that wait for others are due on `due_from` or later."""
    remarks = Remarks()
    early = [one for one in cases if one.handed_over_at is None and one.case.due_on >= due_from]
    late = [one for one in cases if one.handed_over_at is not None]
    pairs = list(product(early, late))
    if Feature.ORDER in features:
        _add_order(world, stream.child("order"), pairs, remarks)
    if Feature.REPORTED_APPROVAL in features:
        _add_report(world, stream.child("report"), pairs, remarks)
    if Feature.SOLE_ASSIGNEE in features:
        _add_sole_assignee(world, stream.child("sole"), late, kept, remarks, Feature.QUESTION in features)
    return remarks


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
        remarks.ordered.add(one.ticket.key)
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
    at = plan_remark(world, stream, one.ticket, kind, other=other.ticket.key)
    remarks.said_at.append(at)
    return Remark(other.ticket.key, at + REMARK_GRACE)


def _add_sole_assignee(
    world: WorldBuilder,
    stream: Stream,
    late: Sequence[QueuedCase],
    kept: Sequence[TicketRow],
    remarks: Remarks,
    has_question: bool,
) -> None:
    """Let the team of a kept ticket say who alone takes its tickets, or whom to ask about that.

    It concerns tickets that need an assignee and are handed over later. The person is not the first of the team by ID,
    and the colleague who has to be asked is at work.
    """
    found = [
        (ticket, one)
        for ticket, one in product(kept, late)
        if one.is_resolved
        and one.case.team_id == ticket.team_id
        and one.case.needs_assignee
        and len(one.case.assignee_ids) >= LEAST_CANDIDATES
    ]
    for ticket, one in stream.shuffled(found):
        takers = [person_id for person_id in sorted(one.case.assignee_ids)[1:] if _stays(world, person_id, one)]
        if not takers:
            continue
        taker = world.staff.person(stream.choice(takers))
        slots = {"name": taker.name, "person_id": taker.id}
        team = world.present(world.today, world.today + ANSWER_DAYS, team_id=ticket.team_id)
        colleagues = [person for person in team if person.id not in (taker.id, world.agent_id, ticket.assignee_id)]
        if not colleagues:
            continue
        keys = [each.ticket.key for each in late if each.case.team_id == ticket.team_id and _may_take(each, taker.id)]
        remarks.takers = dict.fromkeys(keys, taker.id)
        if has_question:
            person = stream.choice(colleagues)
            named = {"name": person.name, "person_id": person.id}
            at = plan_remark(world, stream, ticket, "question", without=(person.id,), **named)
            plan_answer(world, stream, ticket, person.id, "sole_assignee", **slots)
            remarks.questions = set(keys)
        else:
            at = plan_remark(world, stream, ticket, "sole_assignee", without=(taker.id,), **slots)
        remarks.said_at.append(at)
        return


def _may_take(queued: QueuedCase, person_id: str) -> bool:
    return queued.case.needs_assignee and len(queued.case.assignee_ids) > 1 and person_id in queued.case.assignee_ids


def _stays(world: WorldBuilder, person_id: str, queued: QueuedCase) -> bool:
    """Return whether a person is at work from the start until a ticket is due."""
    return all(
        one.person_id != person_id or one.last_day < world.today or one.first_day > queued.case.due_on
        for one in world.absences
    )
