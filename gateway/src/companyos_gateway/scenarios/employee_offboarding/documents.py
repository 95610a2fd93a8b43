"""A leaver: who leaves and when, which access they have, and the tickets, requests and delegations they leave."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.approvers import ApproverChain
from companyos_gateway.scenarios.blocks.documents import APPROVAL_SUBJECTS, add_subject_record, file_record
from companyos_gateway.scenarios.blocks.pending_requests import (
    PendingRequest,
    add_request,
    number_requests,
    remove_pending_requests,
)
from companyos_gateway.scenarios.blocks.policy_versions import PRIORITIES
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

SUBJECT = next(one for one in APPROVAL_SUBJECTS if one.type_key == "purchase_order")
"""The approval type of the requests."""

TEAMS = ("vendor-operations", "procurement", "platform", "data")
"""Teams that people leave; nothing that blocks the ticket belongs to them."""

LEAST_TENURE_DAYS = 250
LAST_DAY_IN_WORKING_DAYS = (20, 26)
"""Later than any ticket of this kind is due."""

ADMIN, WRITE, READ = "admin", "write", "read"
ENDED = ("resolved", "closed", "cancelled")
TICKETS, EACH = (2, 3), (1, 2)
"""How many tickets there are, and how many requests of each sort."""

SMALLEST_CENTS = 40_000
LARGEST_SHARE = 4
"""Amounts that only the CFO decides about are at most this many times the procurement lead's limit."""


class Variant(StrEnum):
    """Open work of a leaver besides duties and access: open tickets, own requests, both or neither."""

    DUTIES = "duties"
    DUTIES_AND_TICKETS = "duties_and_tickets"
    DUTIES_AND_REQUESTS = "duties_and_requests"
    EVERYTHING = "everything"

    @property
    def has_tickets(self) -> bool:
        """Say whether open tickets are assigned to the leaver."""
        return self in (Variant.DUTIES_AND_TICKETS, Variant.EVERYTHING)

    @property
    def has_requests(self) -> bool:
        """Say whether requests of the leaver are pending."""
        return self in (Variant.DUTIES_AND_REQUESTS, Variant.EVERYTHING)


class RefusalGround(StrEnum):
    """Why an offboarding is refused, by the reason code of the policy."""

    STAYS = "requirement_not_met"
    HELD = "policy_violation"
    DONE_BEFORE = "duplicate"


@dataclass(frozen=True, kw_only=True)
class Duties:
    """Open work of the leaver."""

    tickets: tuple[TicketRow, ...] = ()
    own: tuple[RequestRow, ...] = ()
    """Requests that the leaver has made."""
    waiting: tuple[RequestRow, ...] = ()
    """Requests that wait for the leaver's decision."""
    delegations: tuple[DelegationRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Leaver:
    """A person who leaves, or whom somebody believes to leave, with their access grants and duties."""

    variant: Variant
    ground: RefusalGround | None
    person: Person
    team_name: str
    informant: str
    """The name of the colleague who knows about it."""
    lead_id: str
    colleague_ids: tuple[str, ...]
    """Members of the team besides the leaver and the lead."""
    last_day: date
    is_write_revoked: bool
    """Whether the policy revokes grants to write at once, rather than on the last day."""
    grants: Mapping[str, RecordRow]
    """The grants that last too long, by access level."""
    role: Role
    """The role that decides about requests that wait for the leaver."""
    amounts: tuple[int, ...]
    """The amounts of those requests in cents."""
    duties: Duties = field(default_factory=Duties)
    chain: ApproverChain = field(default_factory=lambda: ApproverChain((), {}))
    ground_id: str | None = None
    """The document that speaks against the offboarding."""

    @property
    def tenure_days(self) -> int:
        """For how many days they will have been employed."""
        return (self.last_day - self.person.employed_from).days


def add_leaver(world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Leaver:
    """Let somebody leave, and give them grants that end too late, in time and long ago."""
    ground = stream.choice(list(RefusalGround)) if must_refuse else None
    last_day = working_days_from(world.today, stream.integer(*LAST_DAY_IN_WORKING_DAYS))
    person = _draw_person(world, stream)
    team_id = person.team_id
    world.remove_absences(person.id)
    if ground is not RefusalGround.STAYS:
        _change(world, person.id, employed_to=last_day)
    if Kind.SIMILAR_NAMES in kinds:
        _add_namesake(world, stream, person)
    _reassign_grants(world, stream, person)
    role = Role.CFO if team_id == "procurement" else stream.choice((Role.PROCUREMENT_LEAD, Role.CFO))
    lead_id = world.staff.lead(team_id).id
    return Leaver(
        variant=stream.choice(list(Variant)),
        ground=ground,
        person=world.staff.person(person.id),
        team_name=next(one.name for one in world.staff.teams if one.id == team_id),
        informant=stream.choice([one.name for one in world.staff.active() if one.name != person.name]),
        lead_id=lead_id,
        colleague_ids=tuple(one.id for one in world.staff.active(team_id) if one.id not in (person.id, lead_id)),
        last_day=last_day,
        is_write_revoked=stream.chance(0.5),
        grants=_add_grants(world, stream, person, last_day),
        role=role,
        amounts=tuple(_draw_amount(world, stream, role) for _ in range(stream.integer(*EACH))),
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


def _add_grants(world: WorldBuilder, stream: Stream, person: Person, last_day: date) -> dict[str, RecordRow]:
    """Add grants of each level that last too long, one that ends in time and one that has expired."""

    def grant(level: str, ends_on: date, state: str = "active") -> RecordRow:
        system = stream.choice(pool("data")["slots"]["service"])
        starts_on = max(min(world.today, ends_on) - timedelta(days=stream.integer(30, 200)), person.employed_from)
        return file_record(
            world,
            stream,
            "access_grant",
            title=f"Access to {system}",
            state=state,
            day=working_days_from(starts_on, -stream.integer(1, 10)),
            fields={"person_id": person.id, "system": system, "access_level": level},
            owner_id=world.staff.lead(person.team_id).id,
            starts_on=starts_on,
            ends_on=ends_on,
        )

    late = {level: grant(level, last_day + timedelta(days=stream.integer(5, 300))) for level in (ADMIN, WRITE, READ)}
    grant(READ, world.today + timedelta(days=stream.integer(1, 10)))
    grant(stream.choice((ADMIN, WRITE)), world.today - timedelta(days=stream.integer(10, 90)), "expired")
    return late


def _draw_amount(world: WorldBuilder, stream: Stream, role: Role) -> int:
    """Draw an amount that the role decides about."""
    approval_type = next(row for row in world.approvalflow.approval_types if row.key == SUBJECT.type_key)
    limit = approval_type.thresholds[0].up_to_cents
    assert limit is not None
    return rounded_amount(
        stream, *((limit + 500, limit * LARGEST_SHARE) if role is Role.CFO else (SMALLEST_CENTS, limit))
    )


def add_duties(
    world: WorldBuilder, stream: Stream, leaver: Leaver, words: Mapping[str, Any], decider_ids: Collection[str]
) -> Duties:
    """Let the leaver leave work behind; nobody who decides about a request has made it."""
    person_id = leaver.person.id
    for ticket in world.ticketdesk.tickets:
        if ticket.assignee_id == person_id and ticket.status not in ENDED:
            ticket.assignee_id = stream.choice([leaver.lead_id, *leaver.colleague_ids])
    tickets = _add_tickets(world, stream, leaver, words) if leaver.variant.has_tickets else []
    remove_pending_requests(world, lambda row: person_id in (row.requester_id, row.approver_id))
    holder_id = world.staff.holders(leaver.role)[0].id
    taken = {person_id, world.agent_id, *decider_ids}
    others = [one.id for one in world.staff.active() if not one.roles and one.id not in taken]

    def request(requester_id: str, approver_id: str, amount: int, status: RequestStatus = "pending") -> RequestRow:
        return _add_request(world, stream, words, requester_id, approver_id, amount, status)

    def amount() -> int:
        return _draw_amount(world, stream, leaver.role)

    count = stream.integer(*EACH) if leaver.variant.has_requests else 0
    own = [request(person_id, holder_id, amount(), stream.choice(("pending", "info_requested"))) for _ in range(count)]
    waiting = [request(stream.choice(others), person_id, one) for one in leaver.amounts]
    request(person_id, holder_id, amount(), "approved")
    request(stream.choice(others), holder_id, amount())
    number_requests(world, stream)
    return Duties(
        tickets=tuple(tickets),
        own=tuple(own),
        waiting=tuple(waiting),
        delegations=_add_delegations(world, stream, leaver, holder_id),
    )


def _add_tickets(world: WorldBuilder, stream: Stream, leaver: Leaver, words: Mapping[str, Any]) -> list[TicketRow]:
    """Add open tickets of the leaver's: a pressing one, one that is not, and perhaps another."""
    levels: list[Priority] = ["critical", "low", stream.choice(PRIORITIES)]
    titles = stream.sample(words["works"], len(levels))
    tickets = []
    for level, title in list(zip(levels, titles, strict=True))[: stream.integer(*TICKETS)]:
        slot = world.ticket_slots[leaver.person.team_id].pop()
        due_on = working_days_from(world.today, stream.integer(22, 40))
        ticket = TicketRow(
            key=slot.key,
            type="task",
            title=title,
            description=stream.choice(words["descriptions"]),
            status=stream.choice(("open", "in_progress", "in_review")),
            priority=level,
            assignee_id=leaver.person.id,
            reporter_id=stream.choice(world.staff.active(leaver.person.team_id)).id,
            team_id=leaver.person.team_id,
            tags=[],
            created_at=slot.created_at,
            updated_at=slot.created_at,
            due_at=closing_time(due_on) if stream.chance(0.6) else None,
        )
        world.ticketdesk.tickets.append(ticket)
        add_history(world, stream, ticket, leaver.person.id)
        tickets.append(ticket)
    return tickets


def _add_request(
    world: WorldBuilder,
    stream: Stream,
    words: Mapping[str, Any],
    requester_id: str,
    approver_id: str,
    amount_cents: int,
    status: RequestStatus,
) -> RequestRow:
    record = add_subject_record(world, stream, SUBJECT, amount_cents, owner_id=requester_id)
    request = PendingRequest(
        type_key=SUBJECT.type_key,
        subject=record.id,
        fields={SUBJECT.id_field: record.id, "amount_cents": amount_cents},
        requester_id=requester_id,
        approver_id=approver_id,
        status=status,
        ticket_ref=None,
        justification=stream.choice(words["justifications"]),
        submitted_at=draw_office_time(stream, working_days_from(world.today, -stream.integer(1, 9))),
        approver_reply=words["said"].get(status, ""),
    )
    return add_request(world, stream, request)


def _add_delegations(world: WorldBuilder, stream: Stream, leaver: Leaver, holder_id: str) -> tuple[DelegationRow, ...]:
    """Add a delegation in force and one that is still to start, beside two that are over and a colleague's own."""
    person_id, lead_id, approvalflow = leaver.person.id, leaver.lead_id, world.approvalflow
    approvalflow.delegations = [row for row in approvalflow.delegations if person_id not in (row.from_id, row.to_id)]

    def day(first: int, last: int) -> datetime:
        return closing_time(working_days_from(world.today, stream.integer(first, last)))

    def delegate(from_id: str, to_id: str, starts_at: datetime, ends_at: datetime) -> DelegationRow:
        types = stream.choice(([], [SUBJECT.type_key]))
        return add_delegation(
            world, from_id, to_id, type_keys=types, limit_cents=None, starts_at=starts_at, ends_at=ends_at
        )

    far, begun, over = day(30, 45), day(-20, -12), day(-6, -2)
    in_force = delegate(holder_id, person_id, begun, far)
    to_come = delegate(lead_id, person_id, day(19, 25), far)
    delegate(lead_id, person_id, day(-30, -20), over)
    delegate(holder_id, person_id, day(-40, -21), far).revoked_at = over
    delegate(lead_id, stream.choice(leaver.colleague_ids), begun, far)
    return in_force, to_come
