"""Comments on the assignees of a shift's tickets: one person of a team, the assignee of another ticket, a new one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from itertools import product

from companyos_gateway.scenarios.blocks.colleague_events import HANDOVER_MINUTES, plan_answer, plan_remark
from companyos_gateway.scenarios.shift_features import Feature
from companyos_gateway.scenarios.shift_remarks import QueuedCase, Remarks
from companyos_gateway.world import WorldBuilder
from companyos_gateway.world.seed_documents.ticketdesk import TicketRow
from companyos_shared.streams import Stream

ANSWER_DAYS = timedelta(days=7)
"""Period from the start in which a colleague who has to be asked is present."""

MIN_CANDIDATES = 4
"""Minimum number of candidates among whom one is the only person who takes tickets."""


def add_assignees(
    world: WorldBuilder,
    stream: Stream,
    cases: Sequence[QueuedCase],
    kept: Sequence[TicketRow],
    features: Collection[Feature],
    remarks: Remarks,
) -> None:
    """Plan comments in which teams say who takes their tickets.

    Withdrawn tickets are left out, as are those of teams that have already said so.
    """
    cases = [one for one in cases if one.ticket.key not in {*remarks.withdrawals, *remarks.conditions}]
    if Feature.SOLE_ASSIGNEE in features:
        late = [one for one in cases if one.handed_over_at is not None]
        _add_sole_assignee(world, stream.child("sole"), late, kept, remarks, Feature.QUESTION in features)
    if {Feature.SAME_ASSIGNEE, Feature.FREEZE} <= set(features):
        _add_same_assignee(world, stream.child("same"), _with_free_assignee(cases, remarks), remarks)
    if {Feature.REASSIGNMENT, Feature.FREEZE} <= set(features):
        _add_reassignment(world, stream.child("reassignment"), _with_free_assignee(cases, remarks), remarks)


def _add_sole_assignee(
    world: WorldBuilder,
    stream: Stream,
    late: Sequence[QueuedCase],
    kept: Sequence[TicketRow],
    remarks: Remarks,
    has_question: bool,
) -> None:
    """Plan a comment by a kept ticket's team on who alone takes its tickets, or whom to ask about that.

    It applies to tickets that need an assignee and are handed over later. The assignee is not the first candidate by
    ID, and the colleague who has to be asked is present.
    """
    found = [
        (ticket, one)
        for ticket, one in product(kept, late)
        if one.is_resolved
        and one.case.team_id == ticket.team_id
        and one.case.needs_assignee
        and len(one.candidate_ids) >= MIN_CANDIDATES
    ]
    for ticket, one in stream.shuffled(found):
        takers = [person_id for person_id in one.candidate_ids[1:] if _stays(world, person_id, one)]
        if not takers:
            continue
        taker = world.staff.person(stream.choice(takers))
        team = world.present(world.today, world.today + ANSWER_DAYS, team_id=ticket.team_id)
        colleagues = [person for person in team if person.id not in (taker.id, world.agent_id, ticket.assignee_id)]
        if not colleagues:
            continue
        keys = [each.ticket.key for each in late if each.case.team_id == ticket.team_id and _may_take(each, taker.id)]
        remarks.takers |= dict.fromkeys(keys, taker.id)
        if has_question:
            person = stream.choice(colleagues)
            comment = plan_remark(
                world, stream, ticket, "question", without=(person.id,), name=person.name, person_id=person.id
            )
            plan_answer(world, stream, ticket, person.id, "sole_assignee", name=taker.name, person_id=taker.id)
        else:
            comment = plan_remark(
                world, stream, ticket, "sole_assignee", without=(taker.id,), name=taker.name, person_id=taker.id
            )
        for key in keys:
            remarks.features[key] |= {Feature.SOLE_ASSIGNEE, *([Feature.QUESTION] if has_question else [])}
        remarks.commented_at.append(comment.at)
        return


def _add_same_assignee(world: WorldBuilder, stream: Stream, cases: Sequence[QueuedCase], remarks: Remarks) -> None:
    """Plan a comment by a team that assigns a ticket to the assignee of another one, who does not have it yet."""
    found = [
        (one, other)
        for one, other in product(cases, cases)
        if one.is_resolved
        and one.ticket.team_id == other.ticket.team_id
        and not other.case.needs_assignee
        and other.ticket.assignee_id in _possible_takers(world, one)
    ]
    if found:
        one, other = stream.choice(found)
        comment = plan_remark(world, stream, one.ticket, "same_assignee", other=other.ticket.key)
        remarks.commented_at.append(comment.at)
        remarks.takers[one.ticket.key] = str(other.ticket.assignee_id)
        remarks.features[one.ticket.key].add(Feature.SAME_ASSIGNEE)


def _add_reassignment(world: WorldBuilder, stream: Stream, cases: Sequence[QueuedCase], remarks: Remarks) -> None:
    """Plan a comment in which a team reassigns one of its tickets during the shift.

    A second comment is about a ticket that has to be refused, for which the assignee does not matter.
    """
    for is_resolved in (True, False):
        found = [one for one in cases if one.is_resolved is is_resolved and _possible_takers(world, one)]
        if not found:
            continue
        one = stream.choice(found)
        taker = world.staff.person(stream.choice(_possible_takers(world, one)))
        comment = plan_remark(
            world,
            stream,
            one.ticket,
            "reassigned",
            without=(taker.id,),
            minutes=HANDOVER_MINUTES,
            name=taker.name,
            person_id=taker.id,
        )
        remarks.commented_at.append(comment.at)
        if is_resolved:
            remarks.takers[one.ticket.key] = taker.id
            remarks.features[one.ticket.key].add(Feature.REASSIGNMENT)


def _with_free_assignee(cases: Sequence[QueuedCase], remarks: Remarks) -> list[QueuedCase]:
    """Return the cases of teams that have not said who takes their tickets."""
    teams = {one.ticket.team_id for one in cases if one.ticket.key in remarks.takers}
    return [one for one in cases if one.ticket.team_id not in teams]


def _possible_takers(world: WorldBuilder, queued: QueuedCase) -> list[str]:
    """Return the possible assignees of a ticket, except its current assignee, the agent and the first candidate."""
    if queued.case.needs_assignee and len(queued.candidate_ids) < MIN_CANDIDATES:
        return []
    others = [one for one in queued.candidate_ids[1:] if one not in (queued.ticket.assignee_id, world.agent_id)]
    return [one for one in others if _stays(world, one, queued)]


def _may_take(queued: QueuedCase, person_id: str) -> bool:
    return queued.case.needs_assignee and len(queued.case.assignee_ids) > 1 and person_id in queued.case.assignee_ids


def _stays(world: WorldBuilder, person_id: str, queued: QueuedCase) -> bool:
    """Return whether a person is present from the start until the ticket's due date."""
    return world.staff.person(person_id).is_employed(queued.case.due_on) and all(
        one.person_id != person_id or one.last_day < world.today or one.first_day > queued.case.due_on
        for one in world.absences
    )
