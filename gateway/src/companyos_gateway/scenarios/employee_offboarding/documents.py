"""A leaver: the person, the last day, the access grants, and the tickets, requests and delegations that remain."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any

from companyos_gateway.scenarios import kit

SUBJECT = next(one for one in kit.APPROVAL_SUBJECTS if one.type_key == "purchase_order")
"""The approval type of the requests."""

TEAMS = ("vendor-operations", "procurement", "platform", "data")
"""Teams of leavers; none of them owns a blocker of the ticket."""

MIN_TENURE_DAYS = 730
LAST_DAY_IN_WORKING_DAYS = (20, 26)
"""Range of working days until the last day: later than any ticket of this kind is due."""

ADMIN, WRITE, READ = "admin", "write", "read"
ENDED = ("resolved", "closed", "cancelled")
TICKETS, EACH = (2, 3), (1, 2)
"""Ranges of the number of tickets, and of the number of requests of each sort."""

SMALLEST_CENTS = 40_000
LARGEST_SHARE = 4
"""Maximum of amounts that only the CFO decides about, as a multiple of the procurement lead's limit."""


class Variant(StrEnum):
    """Variant of the case: open tickets, own requests, both or neither, besides duties and access."""

    DUTIES = "duties"
    DUTIES_AND_TICKETS = "duties_and_tickets"
    DUTIES_AND_REQUESTS = "duties_and_requests"
    EVERYTHING = "everything"

    @property
    def has_tickets(self) -> bool:
        """Return whether open tickets are assigned to the leaver."""
        return self in (Variant.DUTIES_AND_TICKETS, Variant.EVERYTHING)

    @property
    def has_requests(self) -> bool:
        """Return whether requests of the leaver are pending."""
        return self in (Variant.DUTIES_AND_REQUESTS, Variant.EVERYTHING)


class RefusalGround(StrEnum):
    """Ground for refusing an offboarding; the value is the policy's reason code."""

    STAYS = "requirement_not_met"
    HELD = "policy_violation"
    DONE_BEFORE = "duplicate"


@dataclass(frozen=True, kw_only=True)
class Duties:
    """Open work of the leaver."""

    tickets: tuple[kit.TicketRow, ...] = ()
    own: tuple[kit.RequestRow, ...] = ()
    """Requests that the leaver has submitted."""
    waiting: tuple[kit.RequestRow, ...] = ()
    """Requests that wait for the leaver's decision."""
    delegations: tuple[kit.DelegationRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Leaver:
    """A person who leaves, or is wrongly believed to leave, with their access grants and duties."""

    variant: Variant
    ground: RefusalGround | None
    person: kit.Person
    team_name: str
    informant: str
    """The name of the colleague who knows about it."""
    lead_id: str
    colleague_ids: tuple[str, ...]
    """Members of the team besides the leaver and the lead."""
    last_day: date
    is_write_revoked: bool
    """True if the policy revokes write access at once, rather than on the last day."""
    grants: Mapping[str, kit.RecordRow]
    """The grants that end after the last day, by access level."""
    role: kit.Role
    """The role that decides about requests that wait for the leaver."""
    amounts: tuple[int, ...]
    """The amounts of those requests in cents."""
    duties: Duties = field(default_factory=Duties)
    chain: kit.ApproverChain = field(default_factory=lambda: kit.ApproverChain((), {}))
    document_id: str | None = None
    """The document that is a ground for refusal, if any."""

    @property
    def tenure_days(self) -> int:
        """The duration of employment in days, up to the last day."""
        return (self.last_day - self.person.employed_from).days


def add_leaver(build: kit.BuildContext) -> Leaver:
    """Draw the leaver, and add access grants that end too late, end in time or ended long ago."""
    world, stream = build.world, build.stream
    ground = build.draw_ground(RefusalGround)
    last_day = build.working_day(*LAST_DAY_IN_WORKING_DAYS)
    person = _draw_person(build)
    team_id = person.team_id
    world.remove_absences(person.id)
    if ground is not RefusalGround.STAYS:
        _change(world, person.id, employed_to=last_day)
    if kit.Kind.SIMILAR_NAMES in build.kinds:
        _add_namesake(build, person)
    kit.reassign_grants(build, person.id)
    role = kit.Role.CFO if team_id == "procurement" else stream.choice((kit.Role.PROCUREMENT_LEAD, kit.Role.CFO))
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
        grants=_add_grants(build, person, last_day),
        role=role,
        amounts=tuple(_draw_amount(build, role) for _ in range(stream.integer(*EACH))),
    )


def _draw_person(build: kit.BuildContext) -> kit.Person:
    world, stream = build.world, build.stream
    oldest = world.today - timedelta(days=MIN_TENURE_DAYS)
    usual = [one for team_id in TEAMS for one in world.staff.active(team_id) if not one.roles]
    return stream.choice([one for one in usual if one.employed_from <= oldest] or usual)


def _change(world: kit.WorldBuilder, person_id: str, **changes: Any) -> None:
    world.staff.replace(world.staff.person(person_id).model_copy(update=changes))


def _add_namesake(build: kit.BuildContext, person: kit.Person) -> None:
    """Give a member of another team the same name; neither of the two has written about the other."""
    world, stream = build.world, build.stream
    written = [(one.reporter_id, one.description) for one in world.ticketdesk.tickets]
    written += [(one.author_id, one.body) for one in world.ticketdesk.comments]

    def has_written_of(author: kit.Person, other: kit.Person) -> bool:
        return any(author_id == author.id and other.name in text for author_id, text in written)

    others = [one for one in world.staff.active() if one.team_id != person.team_id and not one.roles]
    others = [one for one in others if one.id != world.agent_id]
    namesake = stream.choice(others)
    while has_written_of(namesake, person) or has_written_of(person, namesake):
        namesake = stream.choice(others)
    local, _, domain = person.email.partition("@")
    _change(world, namesake.id, name=person.name, email=f"{local}2@{domain}")
    world.rename_in_texts(namesake.name, person.name)


def _add_grants(build: kit.BuildContext, person: kit.Person, last_day: date) -> dict[str, kit.RecordRow]:
    """Add a grant of each level that ends too late, one that ends in time and an expired one; return the late ones."""

    world, stream = build.world, build.stream

    def grant(level: str, ends_on: date, state: str = "active") -> kit.RecordRow:
        system = stream.choice(kit.pool("data")["slots"]["service"])
        starts_on = max(min(world.today, ends_on) - timedelta(days=stream.integer(30, 200)), person.employed_from)
        return build.file_record(
            "access_grant",
            title=f"Access to {system}",
            state=state,
            day=kit.working_days_from(starts_on, -stream.integer(1, 10)),
            fields={"person_id": person.id, "system": system, "access_level": level},
            owner_id=world.staff.lead(person.team_id).id,
            starts_on=starts_on,
            ends_on=ends_on,
        )

    late = {level: grant(level, last_day + timedelta(days=stream.integer(5, 300))) for level in (ADMIN, WRITE, READ)}
    grant(READ, world.today + timedelta(days=stream.integer(1, 10)))
    grant(stream.choice((ADMIN, WRITE)), world.today - timedelta(days=stream.integer(10, 90)), "expired")
    return late


def _draw_amount(build: kit.BuildContext, role: kit.Role) -> int:
    """Draw an amount that the role decides about."""
    world, stream = build.world, build.stream
    approval_type = next(row for row in world.approvalflow.approval_types if row.key == SUBJECT.type_key)
    limit = approval_type.thresholds[0].up_to_cents
    assert limit is not None
    amounts = (limit + 500, limit * LARGEST_SHARE) if role is kit.Role.CFO else (SMALLEST_CENTS, limit)
    return kit.rounded_amount(stream, *amounts)


def add_duties(
    build: kit.BuildContext, leaver: Leaver, words: Mapping[str, Any], decider_ids: Collection[str]
) -> Duties:
    """Add open tickets, requests and delegations of the leaver; approvers have not submitted the requests."""
    world, stream = build.world, build.stream
    person_id = leaver.person.id
    for ticket in world.ticketdesk.tickets:
        if ticket.assignee_id == person_id and ticket.status not in ENDED:
            ticket.assignee_id = stream.choice([leaver.lead_id, *leaver.colleague_ids])
    tickets = _add_tickets(build, leaver, words) if leaver.variant.has_tickets else []
    kit.remove_requests(world, lambda row: row.status == "pending" and person_id in (row.requester_id, row.approver_id))
    holder_id = world.staff.holders(leaver.role)[0].id
    taken = {person_id, world.agent_id, *decider_ids}
    others = [one.id for one in world.staff.active() if not one.roles and one.id not in taken]

    def request(
        requester_id: str, approver_id: str, amount: int, status: kit.RequestStatus = "pending"
    ) -> kit.RequestRow:
        submitted_at = kit.draw_office_time(stream, build.working_day_ago(1, 9))
        return kit.file_request(
            build,
            SUBJECT,
            amount,
            words,
            requester_id=requester_id,
            approver_id=approver_id,
            status=status,
            submitted_at=submitted_at,
        )

    count = stream.integer(*EACH) if leaver.variant.has_requests else 0
    open_statuses: tuple[kit.RequestStatus, ...] = ("pending", "info_requested")
    own = [
        request(person_id, holder_id, _draw_amount(build, leaver.role), stream.choice(open_statuses))
        for _ in range(count)
    ]
    waiting = [request(stream.choice(others), person_id, one) for one in leaver.amounts]
    request(person_id, holder_id, _draw_amount(build, leaver.role), "approved")
    request(stream.choice(others), holder_id, _draw_amount(build, leaver.role))
    kit.number_requests(world, stream)
    return Duties(
        tickets=tuple(tickets),
        own=tuple(own),
        waiting=tuple(waiting),
        delegations=_add_delegations(build, leaver, holder_id),
    )


def _add_tickets(build: kit.BuildContext, leaver: Leaver, words: Mapping[str, Any]) -> list[kit.TicketRow]:
    """Add two or three open tickets of the leaver: a critical one, a low one, and possibly another."""
    world, stream = build.world, build.stream
    levels: list[kit.Priority] = ["critical", "low", stream.choice(kit.PRIORITIES)]
    titles = stream.sample(words["works"], len(levels))
    tickets = []
    for level, title in list(zip(levels, titles, strict=True))[: stream.integer(*TICKETS)]:
        slot = world.ticket_slots[leaver.person.team_id].pop()
        due_on = build.working_day(22, 40)
        ticket = build.file_ticket(
            slot,
            title=title,
            description=stream.choice(words["descriptions"]),
            status=stream.choice(("open", "in_progress", "in_review")),
            priority=level,
            assignee_id=leaver.person.id,
            reporter_id=stream.choice(world.staff.active(leaver.person.team_id)).id,
            team_id=leaver.person.team_id,
            tags=[],
            due_at=kit.closing_time(due_on) if stream.chance(0.6) else None,
        )
        tickets.append(ticket)
    return tickets


def _add_delegations(build: kit.BuildContext, leaver: Leaver, holder_id: str) -> tuple[kit.DelegationRow, ...]:
    """Add an active and a future delegation, and return them; also add two that have ended and a colleague's."""
    world, stream = build.world, build.stream
    person_id, lead_id, approvalflow = leaver.person.id, leaver.lead_id, world.approvalflow
    approvalflow.delegations = [
        row for row in approvalflow.delegations if person_id not in (row.from_id, row.to_id) or world.is_kept(row)
    ]

    def day(first: int, last: int) -> datetime:
        return kit.closing_time(kit.working_days_from(world.today, stream.integer(first, last)))

    def delegate(from_id: str, to_id: str, starts_at: datetime, ends_at: datetime) -> kit.DelegationRow:
        types = stream.choice(([], [SUBJECT.type_key]))
        return kit.add_delegation(
            world, from_id, to_id, type_keys=types, limit_cents=None, starts_at=starts_at, ends_at=ends_at
        )

    far, begun, over = day(30, 45), day(-20, -12), day(-6, -2)
    in_force = delegate(holder_id, person_id, begun, far)
    to_come = delegate(lead_id, person_id, day(19, 25), far)
    delegate(lead_id, person_id, day(-30, -20), over)
    delegate(holder_id, person_id, day(-40, -21), far).revoked_at = over
    delegate(lead_id, stream.choice(leaver.colleague_ids), begun, far)
    return in_force, to_come
