"""Audited requests: a stack that waits for approval. Some break the policy, others only look like it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any

from companyos_gateway.scenarios import kit

WINDOW_WORKING_DAYS, EARLIER_WORKING_DAYS = (8, 14), (1, 5)
EACH = (1, 2)
"""How many requests there are of each breach."""

TICKET_FROM_CENTS, LEAD_LIMIT_CENTS, CEILING_CENTS = (150_000, 300_000), (1_200_000, 2_000_000), (5_000_000, 8_000_000)
ORDERING_ROLES = (kit.Role.FINANCE_CONTROLLER, kit.Role.SECURITY_LEAD, kit.Role.LEGAL_COUNSEL)


class Breach(StrEnum):
    """A way in which a request breaks the policy, by the reason code of its remedy; `wrong_hands` is escalated."""

    OVER_CEILING = "policy_violation"
    GONE = "not_entitled"
    MISSING_TICKET = "requirement_not_met"
    WRONG_HANDS = "wrong_hands"


class Variant(StrEnum):
    """The breaches among the requests; some requests always wait for the wrong approver."""

    LIMITS = "limits"
    LEAVERS = "leavers"
    PAPERS = "papers"
    EVERYTHING = "everything"


BREACHES = {
    Variant.LIMITS: (Breach.OVER_CEILING, Breach.WRONG_HANDS),
    Variant.LEAVERS: (Breach.GONE, Breach.WRONG_HANDS),
    Variant.PAPERS: (Breach.MISSING_TICKET, Breach.WRONG_HANDS),
    Variant.EVERYTHING: tuple(Breach),
}


class RefusalGround(StrEnum):
    """Why an audit is refused, by the reason code of the policy."""

    HELD = "requirement_not_met"
    NOT_ORDERED = "not_entitled"
    DONE_BEFORE = "duplicate"


@dataclass(frozen=True, kw_only=True)
class Audit:
    """An audit of one approval type, with the requests that break its policy."""

    variant: Variant
    ground: RefusalGround | None
    audited: kit.ApprovalSubject
    role: kit.Role
    """The role that decides about escalated requests."""
    ordering_role: kit.Role
    first_day: date
    ticket_from_cents: int
    lead_limit_cents: int
    ceiling_cents: int
    near_cents: int
    """The largest amount that breaks nothing."""
    breaches: tuple[tuple[kit.RequestRow, Breach], ...] = ()
    wrong_ids: frozenset[str] = frozenset()
    """People who do not decide about escalated requests."""
    chain: kit.ApproverChain = field(default_factory=lambda: kit.ApproverChain((), {}))
    reporter_id: str = ""
    ground_id: str | None = None
    """The document that speaks against the audit."""

    @property
    def breaching_ids(self) -> tuple[str, ...]:
        """The ids of the requests that break the policy."""
        return tuple(row.id for row, _ in self.breaches)

    def amounts(self, *breaches: Breach) -> list[int]:
        """Return the amounts in cents of the requests with these breaches."""
        return [int(row.fields["amount_cents"]) for row, breach in self.breaches if breach in breaches]


@dataclass(frozen=True, kw_only=True)
class RequestDraft:
    """A request before it is filed."""

    breach: Breach | None
    amount_cents: int
    approver_id: str
    requester_id: str
    has_ticket: bool = True
    status: kit.RequestStatus = "pending"
    is_early: bool = False
    """Whether it was submitted before the first day of the audit."""


def draw_audit(stream: kit.Stream, today: date, *, must_refuse: bool) -> Audit:
    """Draw the audited type, the period and the limits."""
    ceiling = kit.rounded_amount(stream, *CEILING_CENTS)
    return Audit(
        variant=stream.choice(list(Variant)),
        ground=stream.choice(list(RefusalGround)) if must_refuse else None,
        audited=stream.choice(kit.APPROVAL_SUBJECTS),
        role=stream.choice((kit.Role.PROCUREMENT_LEAD, kit.Role.CFO)),
        ordering_role=stream.choice(ORDERING_ROLES),
        first_day=kit.working_days_from(today, -stream.integer(*WINDOW_WORKING_DAYS)),
        ticket_from_cents=kit.rounded_amount(stream, *TICKET_FROM_CENTS),
        lead_limit_cents=kit.rounded_amount(stream, *LEAD_LIMIT_CENTS),
        ceiling_cents=ceiling,
        near_cents=ceiling - (0 if stream.chance(0.5) else kit.rounded_amount(stream, 500, ceiling // 12)),
    )


class RequestStack:
    """Draws and files the requests of an audit, in the place of those that the company has of the type."""

    def __init__(self, world: kit.WorldBuilder, stream: kit.Stream, audit: Audit, words: dict[str, Any]) -> None:
        self.world, self.stream, self.audit, self.words = world, stream, audit, words
        staff = world.staff
        self.employees = [one.id for one in staff.active() if not one.roles and one.id != world.agent_id]
        self.gone = [one.id for one in staff.people if not one.is_employed(world.today) and not one.roles]
        self.lead_id, self.cfo_id = (staff.holders(role)[0].id for role in (kit.Role.PROCUREMENT_LEAD, kit.Role.CFO))
        self.wrong_ids: set[str] = set()

    def file(self, kinds: Collection[kit.Kind]) -> tuple[tuple[kit.RequestRow, Breach], ...]:
        """File the requests, and others of a type with a similar name; return those that break the policy."""
        breaches = BREACHES[self.audit.variant]
        drafts = [self._draw_breach(one) for one in breaches for _ in range(self.stream.integer(*EACH))]
        kit.remove_requests(self.world, lambda row: row.type_key == self.audit.audited.type_key)
        rows = self._file_all(self.audit.audited, [*drafts, *self._draw_compliant()])
        if kit.Kind.SIMILAR_NAMES in kinds:
            others = [self._draw_breach(one) for one in (Breach.OVER_CEILING, Breach.MISSING_TICKET)]
            self._file_all(self.audit.audited.lookalike(), others)
        kit.number_requests(self.world, self.stream)
        return tuple((row, draft.breach) for row, draft in zip(rows, drafts, strict=False) if draft.breach)

    def _draw_breach(self, breach: Breach) -> RequestDraft:
        audit, stream = self.audit, self.stream
        above_limit = (audit.lead_limit_cents + 500, audit.ceiling_cents)
        above_ceiling = (audit.ceiling_cents + 500, audit.ceiling_cents * 3 // 2)
        usual = (audit.ticket_from_cents, audit.lead_limit_cents)
        if breach is Breach.WRONG_HANDS:
            amounts, approver_id = above_limit if audit.role is kit.Role.CFO else usual, self._draw_wrong_approver()
        elif breach is Breach.OVER_CEILING:
            amounts, approver_id = above_ceiling, self.cfo_id
        else:
            amounts, approver_id = usual, self.lead_id
        return RequestDraft(
            breach=breach,
            amount_cents=kit.rounded_amount(stream, *amounts),
            approver_id=approver_id,
            requester_id=stream.choice(self.gone) if breach is Breach.GONE else self._draw_requester(),
            has_ticket=breach is not Breach.MISSING_TICKET,
            status="pending" if breach is Breach.WRONG_HANDS else stream.choice(("pending", "info_requested")),
        )

    def _draw_wrong_approver(self) -> str:
        usual = self.lead_id if self.audit.role is kit.Role.CFO else self.stream.choice(self.employees)
        found = usual if self.stream.chance(0.6) else self.stream.choice(self.gone)
        self.wrong_ids.add(found)
        return found

    def _draw_requester(self) -> str:
        return self.stream.choice([one for one in self.employees if one not in self.wrong_ids])

    def _draw_compliant(self) -> list[RequestDraft]:
        """Draw requests that break nothing: within a limit, too early for the audit, or decided."""
        audit, stream = self.audit, self.stream
        small = kit.rounded_amount(stream, 20_000, audit.ticket_from_cents - 500)
        large = kit.rounded_amount(stream, audit.ceiling_cents + 500, audit.ceiling_cents * 2)
        usual = kit.rounded_amount(stream, audit.ticket_from_cents, audit.lead_limit_cents)

        def draft(amount: int, approver_id: str, **more: Any) -> RequestDraft:
            requester_id = self._draw_requester()
            return RequestDraft(
                breach=None, amount_cents=amount, approver_id=approver_id, requester_id=requester_id, **more
            )

        return [
            draft(small, self.lead_id, has_ticket=False),
            draft(audit.near_cents, self.cfo_id),
            draft(usual, self.lead_id, status=stream.choice(("pending", "info_requested"))),
            draft(large, self.cfo_id, is_early=True),
            draft(usual, self.lead_id, has_ticket=False, is_early=True),
            draft(large, self.cfo_id, status=stream.choice(("approved", "rejected"))),
        ]

    def _file_all(self, audited: kit.ApprovalSubject, drafts: Sequence[RequestDraft]) -> list[kit.RequestRow]:
        return [self._file(audited, one) for one in drafts]

    def _file(self, audited: kit.ApprovalSubject, draft: RequestDraft) -> kit.RequestRow:
        world, stream = self.world, self.stream
        submitted_at = kit.draw_office_time(stream, self._draw_day(is_early=draft.is_early))
        for person_id in (draft.requester_id, draft.approver_id):
            world.postpone_departure(stream, person_id, submitted_at)
        record = kit.add_subject_record(world, stream, audited, draft.amount_cents, owner_id=draft.requester_id)
        keys = [ticket.key for ticket in world.ticketdesk.tickets if ticket.created_at < submitted_at]
        request = kit.PendingRequest(
            type_key=audited.type_key,
            subject=record.id,
            fields={audited.id_field: record.id, "amount_cents": draft.amount_cents},
            requester_id=draft.requester_id,
            approver_id=draft.approver_id,
            status=draft.status,
            ticket_ref=stream.choice(keys) if draft.has_ticket else None,
            justification=stream.choice(self.words["justifications"]),
            submitted_at=submitted_at,
            approver_reply=self.words["said"].get(draft.status, ""),
        )
        return kit.add_request(world, stream, request)

    def _draw_day(self, *, is_early: bool) -> date:
        """Draw a day from the first day of the audit to yesterday, or one before."""
        first_day = self.audit.first_day
        if is_early:
            return kit.working_days_from(first_day, -self.stream.integer(*EARLIER_WORKING_DAYS))
        days = [kit.working_days_from(first_day, number) for number in range(WINDOW_WORKING_DAYS[1])]
        return self.stream.choice([one for one in days if one < self.world.today])
