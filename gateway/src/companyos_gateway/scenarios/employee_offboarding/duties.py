"""What a leaver leaves behind: tickets, requests of their own, requests that lie with them, delegations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from companyos_gateway.scenarios.employee_offboarding.case import TYPE_KEY
from companyos_gateway.scenarios.employee_offboarding.leaver import Leaver, texts
from companyos_gateway.scenarios.parts.rulebook import LADDER
from companyos_gateway.scenarios.parts.subjects import TYPES, add_subject
from companyos_gateway.scenarios.parts.waiting import Request, add_request, number_requests, take_away
from companyos_gateway.world.approvals import add_delegation
from companyos_gateway.world.backlog import add_history
from companyos_gateway.world.calendar import closing_of, office_moment, working_days_from
from companyos_gateway.world.documents.approvalflow import DelegationRow, RequestRow, RequestStatus
from companyos_gateway.world.documents.ticketdesk import Priority, TicketRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.records import rounded_amount
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

ENDED = ("resolved", "closed", "cancelled")
TICKETS = (2, 3)
EACH = (1, 2)
"""How many requests there are of each sort."""

SMALLEST_CENTS = 40_000
LARGEST_SHARE = 4
"""What only the CFO decides about costs at most this many times what the procurement lead may decide about."""

IN_FORCE_WORKING_DAYS = (30, 45)


@dataclass(frozen=True, kw_only=True)
class Duties:
    """What was left behind."""

    tickets: tuple[TicketRow, ...]
    own: tuple[RequestRow, ...]
    lying: tuple[RequestRow, ...]
    """Requests that lie with the leaver."""
    delegations: tuple[DelegationRow, ...]


def amount_range(world: World, role: Role) -> tuple[int, int]:
    """Return which amounts the role decides about."""
    kind = next(row for row in world.flow.approval_types if row.key == TYPE_KEY)
    limit = kind.thresholds[0].up_to_cents
    assert limit is not None
    return (limit + 500, limit * LARGEST_SHARE) if role is Role.CFO else (SMALLEST_CENTS, limit)


def add_duties(
    world: World, stream: Stream, leaver: Leaver, role: Role, amounts: Sequence[int], deciders: Collection[str]
) -> Duties:
    """Let the leaver leave things behind; `amounts` are those of what lies with them; no decider asked for it."""
    person_id = leaver.person.id
    _hand_over_usual_tickets(world, stream, leaver)
    tickets = _add_tickets(world, stream, leaver) if leaver.shape.has_tickets else ()
    take_away(world, lambda row: person_id in (row.requester_id, row.approver_id))
    holder_id = world.staff.holders(role)[0].id
    others = [one.id for one in world.staff.active() if not one.roles and one.id not in (person_id, world.agent_id)]
    low, high = amount_range(world, role)
    own: list[RequestRow] = []
    for _ in range(stream.integer(*EACH) if leaver.shape.has_requests else 0):
        status: RequestStatus = stream.choice(("pending", "info_requested"))
        amount = rounded_amount(stream, low, high)
        own.append(_add(world, stream, amount, requester_id=person_id, approver_id=holder_id, status=status))
    lying = [
        _add(world, stream, amount, requester_id=_asker(stream, others, deciders), approver_id=person_id)
        for amount in amounts
    ]
    amount = rounded_amount(stream, low, high)
    _add(world, stream, amount, requester_id=person_id, approver_id=holder_id, status="approved")
    _add(world, stream, amount, requester_id=stream.choice(others), approver_id=holder_id)
    number_requests(world, stream)
    delegations = _add_delegations(world, stream, leaver, holder_id)
    return Duties(tickets=tickets, own=tuple(own), lying=tuple(lying), delegations=delegations)


def _asker(stream: Stream, others: Sequence[str], deciders: Collection[str]) -> str:
    """Draw who asks; where that is somebody who decides, one of the rest."""
    asker = stream.choice(others)
    return stream.choice([one for one in others if one not in deciders]) if asker in deciders else asker


def _hand_over_usual_tickets(world: World, stream: Stream, leaver: Leaver) -> None:
    """Give the open tickets that the leaver happens to have to colleagues."""
    team = [one.id for one in world.staff.active(leaver.person.team_id) if one.id != leaver.person.id]
    for ticket in world.desk.tickets:
        if ticket.assignee_id == leaver.person.id and ticket.status not in ENDED:
            ticket.assignee_id = stream.choice(team)


def _add_tickets(world: World, stream: Stream, leaver: Leaver) -> tuple[TicketRow, ...]:
    """Add open tickets of the leaver's: a pressing one, one that is not, and perhaps another."""
    levels: list[Priority] = ["critical", "low", stream.choice(LADDER)]
    titles = stream.sample(texts()["works"], len(levels))
    wanted = list(zip(levels, titles, strict=True))[: stream.integer(*TICKETS)]
    return tuple(_add_ticket(world, stream, leaver, level, title) for level, title in wanted)


def _add_ticket(world: World, stream: Stream, leaver: Leaver, level: Priority, title: str) -> TicketRow:
    team_id = leaver.person.team_id
    slot = world.ticket_slots[team_id].pop()
    due_on = working_days_from(world.today, stream.integer(22, 40))
    ticket = TicketRow(
        key=slot.key,
        type="task",
        title=title,
        description=stream.choice(texts()["descriptions"]),
        status=stream.choice(("open", "in_progress", "in_review")),
        priority=level,
        assignee_id=leaver.person.id,
        reporter_id=stream.choice(world.staff.active(team_id)).id,
        team_id=team_id,
        tags=[],
        created_at=slot.created_at,
        updated_at=slot.created_at,
        due_at=closing_of(due_on) if stream.chance(0.6) else None,
    )
    world.desk.tickets.append(ticket)
    add_history(world, stream, ticket, leaver.person.id)
    return ticket


def _add(
    world: World,
    stream: Stream,
    amount_cents: int,
    *,
    requester_id: str,
    approver_id: str,
    status: RequestStatus = "pending",
) -> RequestRow:
    subjects = next(one for one in TYPES if one.type_key == TYPE_KEY)
    submitted_at = _moment(world, stream)
    subject = add_subject(world, stream, subjects, amount_cents, owner_id=requester_id)
    wanted = Request(
        type_key=TYPE_KEY,
        subject=subject.id,
        fields={subjects.id_field: subject.id, "amount_cents": amount_cents},
        requester_id=requester_id,
        approver_id=approver_id,
        status=status,
        ticket_ref=None,
        justification=stream.choice(texts()["justifications"]),
        submitted_at=submitted_at,
        said=texts()["said"].get(status, ""),
    )
    return add_request(world, stream, wanted)


def _moment(world: World, stream: Stream) -> datetime:
    return office_moment(stream, working_days_from(world.today, -stream.integer(1, 9)))


def _add_delegations(world: World, stream: Stream, leaver: Leaver, holder_id: str) -> tuple[DelegationRow, ...]:
    """Add a delegation in force and one that is still to start, beside two that are over and a colleague's own."""
    today, person_id = world.today, leaver.person.id
    flow = world.flow
    flow.delegations = [row for row in flow.delegations if person_id not in (row.from_id, row.to_id)]
    far = closing_of(working_days_from(today, stream.integer(*IN_FORCE_WORKING_DAYS)))
    lead_id = world.staff.lead(leaver.person.team_id).id

    def delegate(giver_id: str, taker_id: str, first_day: date, ends_at: datetime) -> DelegationRow:
        types, starts_at = stream.choice(([], [TYPE_KEY])), closing_of(first_day)
        return add_delegation(
            world, giver_id, taker_id, type_keys=types, limit_cents=None, starts_at=starts_at, ends_at=ends_at
        )

    begun = working_days_from(today, -stream.integer(12, 20))
    in_force = delegate(holder_id, person_id, begun, far)
    to_come = delegate(lead_id, person_id, working_days_from(today, stream.integer(19, 25)), far)
    over = closing_of(working_days_from(today, -stream.integer(2, 6)))
    delegate(lead_id, person_id, working_days_from(today, -stream.integer(20, 30)), over)
    delegate(holder_id, person_id, working_days_from(today, -stream.integer(21, 40)), far).revoked_at = over
    colleagues = [one.id for one in world.staff.active(leaver.person.team_id) if one.id not in (person_id, lead_id)]
    delegate(lead_id, stream.choice(colleagues), begun, far)
    return in_force, to_come
