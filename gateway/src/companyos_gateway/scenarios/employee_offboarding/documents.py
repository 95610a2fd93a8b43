"""The leaver: who goes and when, who has the same name, and what access they have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.documents import APPROVAL_SUBJECTS, add_subject_record
from companyos_gateway.scenarios.blocks.pending_requests import (
    PendingRequest,
    add_request,
    number_requests,
    remove_pending_requests,
)
from companyos_gateway.scenarios.blocks.policy_versions import PRIORITIES
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.scenarios.employee_offboarding.case import TYPE_KEY, RefusalGround, Variant
from companyos_gateway.world.approvals import add_delegation
from companyos_gateway.world.backlog import add_history
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import closing_time, draw_office_time, working_days_from
from companyos_gateway.world.pools import pool
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import DelegationRow, RequestRow, RequestStatus
from companyos_gateway.world.seed_documents.datahub import RecordRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority, TicketRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Person, Role

TEAMS = ("vendor-operations", "procurement", "platform", "data")
"""Teams that people leave; nothing that blocks the ticket belongs to them."""

LEAST_TENURE_DAYS = 250
LAST_DAY_IN_WORKING_DAYS = (20, 26)
"""Later than any ticket of this kind is due."""

ADMIN, WRITE, READ = "admin", "write", "read"


@dataclass(frozen=True, kw_only=True)
class Leaver:
    """The person who leaves, with their access grants."""

    person: Person
    variant: Variant
    ground: RefusalGround | None
    last_day: date
    """The last day; of one who stays, that which somebody believes in."""
    revoked: tuple[RecordRow, ...]
    ended: tuple[RecordRow, ...]
    written: tuple[RecordRow, ...]
    """Grants to write, which some versions of the policy end at once and others on the last day."""

    @property
    def tenure_days(self) -> int:
        """For how many days they will have been employed."""
        return (self.last_day - self.person.employed_from).days


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return load_texts(__file__)


def add_leaver(
    world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool, is_write_revoked: bool
) -> Leaver:
    """Let somebody leave, and give them grants that end too late, in time and long ago."""
    ground = stream.choice(list(RefusalGround)) if must_refuse else None
    variant = stream.choice(list(Variant))
    last_day = working_days_from(world.today, stream.integer(*LAST_DAY_IN_WORKING_DAYS))
    person = _draw_person(world, stream)
    world.remove_absences(person.id)
    if ground is not RefusalGround.STAYS:
        _change(world, person.id, employed_to=last_day)
    if Kind.SIMILAR_NAMES in kinds:
        _add_namesake(world, stream, person)
    _reassign_grants(world, stream, person)
    late = [last_day + timedelta(days=stream.integer(5, 300)) for _ in range(3)]
    early = world.today + timedelta(days=stream.integer(1, 10))
    admin = _grant(world, stream, person, ADMIN, ends_on=late[0])
    write = _grant(world, stream, person, WRITE, ends_on=late[1])
    read = _grant(world, stream, person, READ, ends_on=late[2])
    _grant(world, stream, person, READ, ends_on=early)
    past = world.today - timedelta(days=stream.integer(10, 90))
    _grant(world, stream, person, stream.choice((ADMIN, WRITE)), ends_on=past, state="expired")
    return Leaver(
        person=world.staff.person(person.id),
        variant=variant,
        ground=ground,
        last_day=last_day,
        revoked=(admin, write) if is_write_revoked else (admin,),
        ended=(read,) if is_write_revoked else (write, read),
        written=(write,),
    )


def _draw_person(world: WorldBuilder, stream: Stream) -> Person:
    oldest = world.today - timedelta(days=LEAST_TENURE_DAYS)
    usual = [one for team_id in TEAMS for one in world.staff.active(team_id) if not one.roles]
    return stream.choice([one for one in usual if one.employed_from <= oldest] or usual)


def _change(world: WorldBuilder, person_id: str, **changes: Any) -> None:
    world.staff.replace(world.staff.person(person_id).model_copy(update=changes))


def _add_namesake(world: WorldBuilder, stream: Stream, person: Person) -> None:
    """Give somebody of another team the same name."""
    others = [one for one in world.staff.active() if one.team_id != person.team_id and not one.roles]
    namesake = stream.choice([one for one in others if one.id != world.agent_id])
    local, _, domain = person.email.partition("@")
    _change(world, namesake.id, name=person.name, email=f"{local}2@{domain}")
    world.rename_in_texts(namesake.name, person.name)


def _reassign_grants(world: WorldBuilder, stream: Stream, person: Person) -> None:
    """Give the grants that the company's usual records hold for the person to somebody else."""
    others = [one.id for one in world.staff.active() if one.id != person.id]
    for record in world.datahub.records:
        if record.kind == "access_grant" and record.fields["person_id"] == person.id:
            record.fields = {**record.fields, "person_id": stream.choice(others)}


def _grant(
    world: WorldBuilder, stream: Stream, person: Person, level: str, *, ends_on: date, state: str = "active"
) -> RecordRow:
    system = stream.choice(pool("data")["slots"]["service"])
    starts_on = max(min(world.today, ends_on) - timedelta(days=stream.integer(30, 200)), person.employed_from)
    filed_at = draw_office_time(stream, working_days_from(starts_on, -stream.integer(1, 10)))
    record = RecordRow(
        id=world.ids.take("ACG"),
        kind="access_grant",
        title=f"Access to {system}",
        state=state,
        owner_id=world.staff.lead(person.team_id).id,
        vendor_id=None,
        amount_cents=None,
        currency=None,
        starts_on=starts_on,
        ends_on=ends_on,
        fields={"person_id": person.id, "system": system, "access_level": level},
        created_at=filed_at,
        updated_at=filed_at,
    )
    world.datahub.records.append(record)
    return record


ENDED = ("resolved", "closed", "cancelled")
TICKETS = (2, 3)
EACH = (1, 2)
"""How many requests there are of each sort."""

SMALLEST_CENTS = 40_000
LARGEST_SHARE = 4
"""What only the CFO decides about costs at most this many times what the procurement lead may decide about."""

IN_FORCE_WORKING_DAYS = (30, 45)


@dataclass(frozen=True, kw_only=True)
class OpenDuties:
    """Open duties of the leaver."""

    tickets: tuple[TicketRow, ...]
    own: tuple[RequestRow, ...]
    pending_requests: tuple[RequestRow, ...]
    """Requests that lie with the leaver."""
    delegations: tuple[DelegationRow, ...]


def amount_range(world: WorldBuilder, role: Role) -> tuple[int, int]:
    """Return which amounts the role decides about."""
    kind = next(row for row in world.approvalflow.approval_types if row.key == TYPE_KEY)
    limit = kind.thresholds[0].up_to_cents
    assert limit is not None
    return (limit + 500, limit * LARGEST_SHARE) if role is Role.CFO else (SMALLEST_CENTS, limit)


def add_duties(
    world: WorldBuilder, stream: Stream, leaver: Leaver, role: Role, amounts: Sequence[int], deciders: Collection[str]
) -> OpenDuties:
    """Let the leaver leave things behind; `amounts` are those of what lies with them; no decider asked for it."""
    person_id = leaver.person.id
    _hand_over_usual_tickets(world, stream, leaver)
    tickets = _add_tickets(world, stream, leaver) if leaver.variant.has_tickets else ()
    remove_pending_requests(world, lambda row: person_id in (row.requester_id, row.approver_id))
    holder_id = world.staff.holders(role)[0].id
    others = [one.id for one in world.staff.active() if not one.roles and one.id not in (person_id, world.agent_id)]
    low, high = amount_range(world, role)
    own: list[RequestRow] = []
    for _ in range(stream.integer(*EACH) if leaver.variant.has_requests else 0):
        status: RequestStatus = stream.choice(("pending", "info_requested"))
        amount = rounded_amount(stream, low, high)
        own.append(_add(world, stream, amount, requester_id=person_id, approver_id=holder_id, status=status))
    pending_requests = [
        _add(world, stream, amount, requester_id=_asker(stream, others, deciders), approver_id=person_id)
        for amount in amounts
    ]
    amount = rounded_amount(stream, low, high)
    _add(world, stream, amount, requester_id=person_id, approver_id=holder_id, status="approved")
    _add(world, stream, amount, requester_id=stream.choice(others), approver_id=holder_id)
    number_requests(world, stream)
    delegations = _add_delegations(world, stream, leaver, holder_id)
    return OpenDuties(
        tickets=tickets, own=tuple(own), pending_requests=tuple(pending_requests), delegations=delegations
    )


def _asker(stream: Stream, others: Sequence[str], deciders: Collection[str]) -> str:
    """Draw who asks; where that is somebody who decides, one of the rest."""
    asker = stream.choice(others)
    return stream.choice([one for one in others if one not in deciders]) if asker in deciders else asker


def _hand_over_usual_tickets(world: WorldBuilder, stream: Stream, leaver: Leaver) -> None:
    """Give the open tickets that the leaver happens to have to colleagues."""
    team = [one.id for one in world.staff.active(leaver.person.team_id) if one.id != leaver.person.id]
    for ticket in world.ticketdesk.tickets:
        if ticket.assignee_id == leaver.person.id and ticket.status not in ENDED:
            ticket.assignee_id = stream.choice(team)


def _add_tickets(world: WorldBuilder, stream: Stream, leaver: Leaver) -> tuple[TicketRow, ...]:
    """Add open tickets of the leaver's: a pressing one, one that is not, and perhaps another."""
    levels: list[Priority] = ["critical", "low", stream.choice(PRIORITIES)]
    titles = stream.sample(texts()["works"], len(levels))
    expected = list(zip(levels, titles, strict=True))[: stream.integer(*TICKETS)]
    return tuple(_add_ticket(world, stream, leaver, level, title) for level, title in expected)


def _add_ticket(world: WorldBuilder, stream: Stream, leaver: Leaver, level: Priority, title: str) -> TicketRow:
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
        due_at=closing_time(due_on) if stream.chance(0.6) else None,
    )
    world.ticketdesk.tickets.append(ticket)
    add_history(world, stream, ticket, leaver.person.id)
    return ticket


def _add(
    world: WorldBuilder,
    stream: Stream,
    amount_cents: int,
    *,
    requester_id: str,
    approver_id: str,
    status: RequestStatus = "pending",
) -> RequestRow:
    subjects = next(one for one in APPROVAL_SUBJECTS if one.type_key == TYPE_KEY)
    submitted_at = _moment(world, stream)
    subject = add_subject_record(world, stream, subjects, amount_cents, owner_id=requester_id)
    expected = PendingRequest(
        type_key=TYPE_KEY,
        subject=subject.id,
        fields={subjects.id_field: subject.id, "amount_cents": amount_cents},
        requester_id=requester_id,
        approver_id=approver_id,
        status=status,
        ticket_ref=None,
        justification=stream.choice(texts()["justifications"]),
        submitted_at=submitted_at,
        approver_reply=texts()["said"].get(status, ""),
    )
    return add_request(world, stream, expected)


def _moment(world: WorldBuilder, stream: Stream) -> datetime:
    return draw_office_time(stream, working_days_from(world.today, -stream.integer(1, 9)))


def _add_delegations(world: WorldBuilder, stream: Stream, leaver: Leaver, holder_id: str) -> tuple[DelegationRow, ...]:
    """Add a delegation in force and one that is still to start, beside two that are over and a colleague's own."""
    today, person_id = world.today, leaver.person.id
    approvalflow = world.approvalflow
    approvalflow.delegations = [row for row in approvalflow.delegations if person_id not in (row.from_id, row.to_id)]
    far = closing_time(working_days_from(today, stream.integer(*IN_FORCE_WORKING_DAYS)))
    lead_id = world.staff.lead(leaver.person.team_id).id

    def delegate(giver_id: str, taker_id: str, first_day: date, ends_at: datetime) -> DelegationRow:
        types, starts_at = stream.choice(([], [TYPE_KEY])), closing_time(first_day)
        return add_delegation(
            world, giver_id, taker_id, type_keys=types, limit_cents=None, starts_at=starts_at, ends_at=ends_at
        )

    begun = working_days_from(today, -stream.integer(12, 20))
    in_force = delegate(holder_id, person_id, begun, far)
    to_come = delegate(lead_id, person_id, working_days_from(today, stream.integer(19, 25)), far)
    over = closing_time(working_days_from(today, -stream.integer(2, 6)))
    delegate(lead_id, person_id, working_days_from(today, -stream.integer(20, 30)), over)
    delegate(holder_id, person_id, working_days_from(today, -stream.integer(21, 40)), far).revoked_at = over
    colleagues = [one.id for one in world.staff.active(leaver.person.team_id) if one.id not in (person_id, lead_id)]
    delegate(lead_id, stream.choice(colleagues), begun, far)
    return in_force, to_come
