"""The stack of requests that wait for approval: those that break the policy, and those that only look like it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.audit_remediation.case import Breach, RefusalGround, Variant
from companyos_gateway.scenarios.blocks.documents import ApprovalSubject, add_subject_record
from companyos_gateway.scenarios.blocks.pending_requests import (
    PendingRequest,
    add_request,
    number_requests,
)
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.world.approvals import remove_requests
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_time, working_days_from
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import RequestRow, RequestStatus
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

WINDOW_WORKING_DAYS = (8, 14)
EACH = (1, 2)
"""How many requests there are of each breach."""

TICKET_FROM_CENTS = (150_000, 300_000)
LEAD_LIMIT_CENTS = (1_200_000, 2_000_000)
CEILING_CENTS = (5_000_000, 8_000_000)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits that the stack is built around."""

    ticket_from: int
    lead_limit: int
    ceiling: int


@dataclass(frozen=True, kw_only=True)
class RequestDraft:
    """A request of the stack before it is written."""

    breach: Breach | None
    amount_cents: int
    requester_id: str
    approver_id: str
    has_ticket: bool = True
    status: RequestStatus = "pending"
    is_early: bool = False
    """Whether it was submitted before the day from which on the audit looks."""


@dataclass(frozen=True, kw_only=True)
class AuditedRequests:
    """The stack as it was written."""

    audited: ApprovalSubject
    variant: Variant
    ground: RefusalGround | None
    limits: Limits
    first_day: date
    role: Role
    holder_id: str
    breaches_found: tuple[tuple[RequestRow, Breach], ...]
    near_cents: int
    """The largest amount that breaks nothing."""
    wrong_ids: frozenset[str]
    """In whose hands requests must not be."""

    @property
    def total_cents(self) -> int:
        """The total of the violating requests in cents."""
        return sum(int(request.fields["amount_cents"]) for request, _ in self.breaches_found)

    @property
    def escalated_cents(self) -> int:
        """The largest amount that is escalated."""
        return max(
            int(row.fields["amount_cents"]) for row, breach in self.breaches_found if breach is Breach.WRONG_HANDS
        )


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return load_texts(__file__)


def add_pending_requests(
    world: WorldBuilder, stream: Stream, audited: ApprovalSubject, kinds: Collection[Kind], *, must_refuse: bool
) -> AuditedRequests:
    """Put the stack together, in the place of whatever of the type waits already."""
    ground = stream.choice(list(RefusalGround)) if must_refuse else None
    variant = stream.choice(list(Variant))
    role = stream.choice((Role.PROCUREMENT_LEAD, Role.CFO))
    limits = Limits(
        ticket_from=rounded_amount(stream, *TICKET_FROM_CENTS),
        lead_limit=rounded_amount(stream, *LEAD_LIMIT_CENTS),
        ceiling=rounded_amount(stream, *CEILING_CENTS),
    )
    first_day = working_days_from(world.today, -stream.integer(*WINDOW_WORKING_DAYS))
    people = _Requesters(world, stream, role)
    near = limits.ceiling - (0 if stream.chance(0.5) else rounded_amount(stream, 500, limits.ceiling // 12))
    breaches_found = [
        _draw_breach(people, limits, breach) for breach in variant.breaches for _ in range(stream.integer(*EACH))
    ]
    waiting = [*breaches_found, *_draw_compliant(people, limits, near)]
    remove_requests(world, lambda row: row.type_key == audited.type_key)
    rows = _write(world, stream, audited, waiting, first_day)
    if Kind.SIMILAR_NAMES in kinds:
        others = [_draw_breach(people, limits, breach) for breach in (Breach.OVER_CEILING, Breach.MISSING_TICKET)]
        _write(world, stream, audited.lookalike(), others, first_day)
    number_requests(world, stream)
    return AuditedRequests(
        audited=audited,
        variant=variant,
        ground=ground,
        limits=limits,
        first_day=first_day,
        role=role,
        holder_id=people.holder_of(role),
        breaches_found=tuple(
            (row, one.breach) for row, one in zip(rows, waiting, strict=True) if one.breach is not None
        ),
        near_cents=near,
        wrong_ids=frozenset(people.wrong_ids),
    )


class _Requesters:
    """Requesters and approvers of the case."""

    def __init__(self, world: WorldBuilder, stream: Stream, role: Role) -> None:
        self.stream = stream
        self.role = role
        staff = world.staff
        self.askers = [one.id for one in staff.active() if not one.roles and one.id != world.agent_id]
        self.gone = [one.id for one in staff.people if not one.is_employed(world.today) and not one.roles]
        self.lead_id = staff.holders(Role.PROCUREMENT_LEAD)[0].id
        self.cfo_id = staff.holders(Role.CFO)[0].id
        self.wrong_ids: set[str] = set()

    def asker(self) -> str:
        """Return who asks."""
        return self.stream.choice([one for one in self.askers if one not in self.wrong_ids])

    def holder_of(self, role: Role) -> str:
        """Return who holds one of the two roles."""
        return self.cfo_id if role is Role.CFO else self.lead_id

    def wrong(self) -> str:
        """Return somebody who does not decide about what is escalated."""
        usual = self.lead_id if self.role is Role.CFO else self.stream.choice(self.askers)
        found = usual if self.stream.chance(0.6) else self.stream.choice(self.gone)
        self.wrong_ids.add(found)
        return found


def _draw_breach(people: _Requesters, limits: Limits, breach: Breach) -> RequestDraft:
    """Draw a request that breaks the policy in one way."""
    stream = people.stream
    if breach is Breach.WRONG_HANDS:
        low, high = (
            (limits.lead_limit + 500, limits.ceiling)
            if people.role is Role.CFO
            else (limits.ticket_from, limits.lead_limit)
        )
        wrong_id = people.wrong()
        amount = rounded_amount(stream, low, high)
        return RequestDraft(breach=breach, amount_cents=amount, requester_id=people.asker(), approver_id=wrong_id)
    if breach is Breach.OVER_CEILING:
        amount, approver_id = rounded_amount(stream, limits.ceiling + 500, limits.ceiling * 3 // 2), people.cfo_id
    else:
        amount, approver_id = rounded_amount(stream, limits.ticket_from, limits.lead_limit), people.lead_id
    is_gone = breach is Breach.GONE
    return RequestDraft(
        breach=breach,
        amount_cents=amount,
        requester_id=stream.choice(people.gone) if is_gone else people.asker(),
        approver_id=approver_id,
        has_ticket=breach is not Breach.MISSING_TICKET,
        status=stream.choice(("pending", "info_requested")),
    )


def _draw_compliant(people: _Requesters, limits: Limits, near: int) -> list[RequestDraft]:
    """Draw requests that break nothing: below a limit, before the day, or decided."""
    stream = people.stream
    small = rounded_amount(stream, 20_000, limits.ticket_from - 500)
    large = rounded_amount(stream, limits.ceiling + 500, limits.ceiling * 2)
    usual = rounded_amount(stream, limits.ticket_from, limits.lead_limit)

    def waiting(amount: int, approver_id: str, **more: Any) -> RequestDraft:
        asker = people.asker()
        return RequestDraft(breach=None, amount_cents=amount, requester_id=asker, approver_id=approver_id, **more)

    return [
        waiting(small, people.lead_id, has_ticket=False),
        waiting(near, people.cfo_id),
        waiting(usual, people.lead_id, status=stream.choice(("pending", "info_requested"))),
        waiting(large, people.cfo_id, is_early=True),
        waiting(usual, people.lead_id, has_ticket=False, is_early=True),
        waiting(large, people.cfo_id, status=stream.choice(("approved", "rejected"))),
    ]


def _write(
    world: WorldBuilder, stream: Stream, audited: ApprovalSubject, waiting: Sequence[RequestDraft], first_day: date
) -> list[RequestRow]:
    return [_row(world, stream, audited, one, first_day) for one in waiting]


def _row(
    world: WorldBuilder, stream: Stream, audited: ApprovalSubject, one: RequestDraft, first_day: date
) -> RequestRow:
    submitted_at = _submitted_at(world, stream, first_day, is_early=one.is_early)
    for person_id in (one.requester_id, one.approver_id):
        world.postpone_departure(stream, person_id, submitted_at)
    subject = add_subject_record(world, stream, audited, one.amount_cents, owner_id=one.requester_id)
    keys = [ticket.key for ticket in world.ticketdesk.tickets if ticket.created_at < submitted_at]
    expected = PendingRequest(
        type_key=audited.type_key,
        subject=subject.id,
        fields={audited.id_field: subject.id, "amount_cents": one.amount_cents},
        requester_id=one.requester_id,
        approver_id=one.approver_id,
        status=one.status,
        ticket_ref=stream.choice(keys) if one.has_ticket else None,
        justification=stream.choice(texts()["justifications"]),
        submitted_at=submitted_at,
        approver_reply=texts()["said"].get(one.status, ""),
    )
    return add_request(world, stream, expected)


def _submitted_at(world: WorldBuilder, stream: Stream, first_day: date, *, is_early: bool) -> datetime:
    """Draw when a request was submitted: from the first day on, or in the two weeks before."""
    if is_early:
        return draw_office_time(stream, working_days_from(first_day, -stream.integer(1, 9)))
    days = 0
    while working_days_from(first_day, days + 1) < world.today:
        days += 1
    return draw_office_time(stream, working_days_from(first_day, stream.integer(0, days)))
