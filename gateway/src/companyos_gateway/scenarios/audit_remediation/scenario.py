"""Audits: requests that break the policy are canceled or escalated, and all others remain unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum

from companyos_gateway.scenarios import kit

WINDOW_WORKING_DAYS, EARLIER_WORKING_DAYS = (8, 14), (1, 5)
"""Working days since the start of the audited period, and from earlier, unaudited requests to its start."""

SMALL_CENTS, TICKET_STEP_CENTS, TICKET_STEPS = 20_000, 10_000, (15, 30)
LIMIT_STEP_CENTS, LEAD_LIMIT_STEPS, CEILING_STEPS = 100_000, (12, 20), (50, 80)
"""Step in cents of the procurement lead's limit and of the policy's ceiling, and their ranges in steps."""

ORDERING_ROLES = (kit.Role.FINANCE_CONTROLLER, kit.Role.SECURITY_LEAD, kit.Role.LEGAL_COUNSEL)
LEAD, CFO = kit.Role.PROCUREMENT_LEAD, kit.Role.CFO
OPEN: tuple[kit.RequestStatus, ...] = ("pending", "info_requested")
DECIDED: tuple[kit.RequestStatus, ...] = ("approved", "rejected")


class Breach(StrEnum):
    """Breach of the policy by a request. The value is the reason code of its remedy; `wrong_hands` is escalated."""

    OVER_CEILING = "policy_violation"
    GONE = "not_entitled"
    MISSING_TICKET = "requirement_not_met"
    WRONG_HANDS = "wrong_hands"


class Variant(StrEnum):
    """Variant of the case: the breaches among the requests. Some requests always wait for the wrong approver."""

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
    """Ground for refusing an audit; the value is the policy's reason code."""

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
    breaches: tuple[tuple[kit.RequestRow, Breach], ...] = ()
    chain: kit.ApproverChain = field(default_factory=lambda: kit.ApproverChain((), {}))
    reporter_id: str = ""
    holder_ids: frozenset[str] = frozenset()
    """The holders of the ordering role."""
    document_id: str | None = None
    """The document that is a ground for refusal, if any."""

    @property
    def breaching_ids(self) -> tuple[str, ...]:
        """The ids of the requests that break the policy."""
        return tuple(row.id for row, _ in self.breaches)

    @property
    def escalated(self) -> list[kit.RequestRow]:
        """The requests that wait for the wrong approver."""
        return [row for row, breach in self.breaches if breach is Breach.WRONG_HANDS]


class AuditRemediation(kit.DeclaredScenario[Audit]):
    """Audit pending approval requests: cancel or escalate those that violate the policy, and no others."""

    name, team, max_steps = "audit_remediation", "security", 150
    tags, duplicate_tags = ("audit",), ("audit", "approvals")
    held_out = frozenset({Variant.EVERYTHING.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.APPROVER_OUT_OF_OFFICE)
    opt_in_kinds = frozenset[kit.Kind]()
    applicable = kit.buildable_kinds(exclude=(*kit.METRIC_KINDS, *kit.DECISION_KINDS, kit.Kind.EXPIRED_CERTIFICATE))
    distractors = (*kit.USUAL_DISTRACTORS, "approvalflow_submit_approval", "approvalflow_revoke_delegation")
    tools = (
        *kit.COMMON_TOOLS,
        *kit.APPROVAL_READ_TOOLS,
        *("approvalflow_cancel_approval", "approvalflow_escalate_approval", "approvalflow_add_approval_note"),
    )

    def draw(self, build: kit.BuildContext) -> Audit:
        """Draw the audited type, the period and the limits, and file the requests."""
        stream = build.stream
        audit = Audit(
            variant=stream.choice(list(Variant)),
            ground=build.draw_ground(RefusalGround),
            audited=stream.choice(kit.APPROVAL_SUBJECTS),
            role=stream.choice((LEAD, CFO)),
            ordering_role=stream.choice(ORDERING_ROLES),
            first_day=build.working_day_ago(*WINDOW_WORKING_DAYS),
            ticket_from_cents=TICKET_STEP_CENTS * stream.integer(*TICKET_STEPS),
            lead_limit_cents=LIMIT_STEP_CENTS * stream.integer(*LEAD_LIMIT_STEPS),
            ceiling_cents=LIMIT_STEP_CENTS * stream.integer(*CEILING_STEPS),
        )
        kit.remove_requests(build.world, lambda row: row.type_key == audit.audited.type_key)
        breaches = [one for one in BREACHES[audit.variant] for _ in range(stream.integer(1, 2))]
        rows = [self._file(build, audit, one) for one in breaches]
        small, boundary = (SMALL_CENTS, audit.ticket_from_cents - 500), (audit.ceiling_cents, audit.ceiling_cents)
        for amounts in (small, None, boundary):
            self._file(build, audit, None, amounts)
        lookalike = replace(audit, audited=audit.audited.lookalike())
        for one in (Breach.OVER_CEILING, Breach.MISSING_TICKET):
            self._file(build, audit, one, is_early=True)
            if kit.Kind.SIMILAR_NAMES in build.kinds:
                self._file(build, lookalike, one)
        self._file(build, audit, Breach.OVER_CEILING, is_decided=True)
        kit.number_requests(build.world, stream)
        return replace(audit, breaches=tuple(zip(rows, breaches, strict=True)))

    def slots(self, facts: Audit) -> Mapping[str, str]:
        """Return the approval type, the first day, an open request of the type, and the reporter."""
        return {
            "title": facts.audited.title,
            "first_day": facts.first_day.isoformat(),
            "audited_type": facts.audited.type_key,
            "request": facts.escalated[0].id,
            "reporter_id": facts.reporter_id,
        }

    def reporter_id(self, facts: Audit) -> str:
        """Return the person who ordered the audit."""
        return facts.reporter_id

    def policy_head(self, facts: Audit) -> tuple[Sequence[str], str]:
        """Return the titles and the topic of the audited type's policy."""
        return self.texts()["policy"]["titles"][facts.audited.type_key], facts.audited.topic

    def figures(self, facts: Audit, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits and the ordering role; another version has a ceiling that a correct request exceeds."""
        total = sum(_amount(row) for row, _ in facts.breaches)
        lower_steps = facts.lead_limit_cents // LIMIT_STEP_CENTS + 1, facts.ceiling_cents // LIMIT_STEP_CENTS - 1
        lower_ceiling = LIMIT_STEP_CENTS * stream.integer(*lower_steps)
        return {
            "ceiling_cents": facts.ceiling_cents if in_force else lower_ceiling,
            "ticket_from_cents": facts.ticket_from_cents,
            "ordering_role": (facts.ordering_role if in_force else stream.choice(ORDERING_ROLES)).value,
            **kit.priority_limits(stream, total, priority, step=kit.limit_step(total)),
        }

    def complete(self, build: kit.BuildContext, facts: Audit, policy: kit.PolicyRow, slot: kit.KeySlot) -> Audit:
        """Add the approval types, the approvers of escalated requests, the documents and the reporter."""
        world, stream = build.world, build.stream
        for one in (facts.audited, *([facts.audited.lookalike()] if kit.Kind.SIMILAR_NAMES in build.kinds else [])):
            kit.replace_approval_type(world, self._approval_type(one, facts, policy))
        excluded_ids = {person_id for row in facts.escalated for person_id in (row.requester_id, row.approver_id)}
        largest = max(map(_amount, facts.escalated))
        chain = kit.add_escalation_approvers(
            build, facts.audited.type_key, facts.role, amount_cents=largest, excluded_ids=excluded_ids
        )
        document_id = self._add_documents(build.child("documents"), facts)
        holder_ids = frozenset(one.id for one in world.staff.holders(facts.ordering_role))
        is_ordered = facts.ground is not RefusalGround.NOT_ORDERED
        present = [one.id for one in world.present(slot.created_at.date()) if one.id != world.agent_id]
        reporters = sorted(holder_ids) if is_ordered else [one for one in present if one not in holder_ids]
        reporter_id = stream.choice(reporters)
        return replace(facts, chain=chain, document_id=document_id, reporter_id=reporter_id, holder_ids=holder_ids)

    def solution(self, facts: Audit, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Remedy every request that breaks the policy, or refuse and change none of them."""
        refs, role = kit.policy_refs(policy), facts.role
        cancelled = [
            kit.RequestCancelled(row.id, kit.Refusal(breach.value, refs))
            for row, breach in facts.breaches
            if breach is not Breach.WRONG_HANDS
        ]
        escalated = tuple(
            kit.Escalation(
                request_id=row.id, type_key=row.type_key, role=role, amount_cents=_amount(row), references=refs
            )
            for row in facts.escalated
        )
        outcome = kit.Outcome(prepared=(kit.EntityGoals("requests_cancelled", cancelled),), escalated=escalated)
        if facts.document_id:
            outcome = kit.Outcome(facts=(kit.record_shown(facts.document_id),), subjects=(facts.document_id,))
        elif facts.ground:
            is_outsider = kit.outsider_shown(facts.reporter_id, facts.holder_ids, facts.ordering_role)
            outcome = kit.Outcome(facts=(is_outsider,))
        return kit.Solution(
            variant=facts.variant,
            outcome=outcome,
            refusal=kit.refusal_for(facts.ground, policy, facts.document_id or facts.reporter_id),
            approver_ids=facts.chain.approver_ids,
            affected=kit.affected_people(facts.chain, role.value, role.value)
            | {kit.Kind.SIMILAR_NAMES: facts.audited.type_key},
        )

    def _approval_type(self, audited: kit.ApprovalSubject, facts: Audit, policy: kit.PolicyRow) -> kit.ApprovalTypeRow:
        return kit.ApprovalTypeRow(
            key=audited.type_key,
            title=audited.title,
            description=self.texts()["type"],
            policy_ref=policy.policy_id,
            fields=[
                kit.field_spec(audited.id_field, "text", "ID of the record."),
                kit.field_spec("amount_cents", "integer", "Amount in cents."),
            ],
            amount_field="amount_cents",
            thresholds=[
                kit.ThresholdRow(up_to_cents=facts.lead_limit_cents, role=LEAD.value),
                kit.ThresholdRow(up_to_cents=None, role=CFO.value),
            ],
            expires_after_minutes=kit.PENDING_EXPIRES_AFTER_MINUTES,
        )

    def _add_documents(self, build: kit.BuildContext, facts: Audit) -> str | None:
        """Add a legal hold and an audit report; return the ID of the one that is a ground for refusal, if any."""
        stream, words, type_key = build.stream, self.texts()["papers"], facts.audited.type_key
        is_held, is_done = facts.ground is RefusalGround.HELD, facts.ground is RefusalGround.DONE_BEFORE
        harmless = stream.choice((("published", "expense_report"), ("archived", type_key)))
        state, held_type = ("published", type_key) if is_held else harmless
        fields = {"approval_type": held_type}
        hold = kit.file_recent_document(build, "legal_hold", words["hold"], fields, state=state)
        first_day = facts.first_day if is_done else kit.working_days_from(facts.first_day, -stream.integer(3, 20))
        fields = {"approval_type": type_key, "first_day": first_day.isoformat()}
        report = kit.file_recent_document(build, "audit_report", words["report"], fields)
        return hold.id if is_held else report.id if is_done else None

    def _file(
        self,
        build: kit.BuildContext,
        audit: Audit,
        breach: Breach | None,
        amounts: tuple[int, int] | None = None,
        *,
        is_early: bool = False,
        is_decided: bool = False,
    ) -> kit.RequestRow:
        """File a request with its record, with a usual amount unless a range is given.

        The audit does not cover requests that are early or decided.
        """
        world, stream = build.world, build.stream
        amounts = amounts or (audit.ticket_from_cents, audit.lead_limit_cents)
        if breach is Breach.OVER_CEILING:
            amounts = (audit.ceiling_cents + 500, audit.ceiling_cents * 3 // 2)
        elif breach is Breach.WRONG_HANDS and audit.role is CFO:
            amounts = (audit.lead_limit_cents + 500, audit.ceiling_cents)
        amount_cents = kit.rounded_amount(stream, *amounts)
        gone_ids = [one.id for one in world.staff.people if not one.is_employed(build.today) and not one.roles]
        employee_ids = [one.id for one in world.staff.active() if not one.roles and one.id != world.agent_id]
        lead_id, cfo_id = (world.staff.holders(role)[0].id for role in (LEAD, CFO))
        approver_id = lead_id if amount_cents <= audit.lead_limit_cents else cfo_id
        if breach is Breach.WRONG_HANDS:
            powerless_id = lead_id if approver_id == cfo_id else stream.choice(employee_ids)
            approver_id = powerless_id if stream.chance(0.6) else stream.choice(gone_ids)
        requester_ids = gone_ids if breach is Breach.GONE else [one for one in employee_ids if one != approver_id]
        requester_id = stream.choice(requester_ids)
        days = -stream.integer(*EARLIER_WORKING_DAYS) if is_early else stream.integer(0, WINDOW_WORKING_DAYS[0] - 1)
        submitted_at = kit.draw_office_time(stream, kit.working_days_from(audit.first_day, days))
        for person_id in (requester_id, approver_id):
            world.postpone_departure(stream, person_id, submitted_at)
        keys = [ticket.key for ticket in world.ticketdesk.tickets if ticket.created_at < submitted_at]
        has_ticket = breach is not Breach.MISSING_TICKET and amount_cents >= audit.ticket_from_cents
        statuses = OPEN[:1] if breach is Breach.WRONG_HANDS else OPEN
        return kit.file_request(
            build,
            audit.audited,
            amount_cents,
            self.texts(),
            requester_id=requester_id,
            approver_id=approver_id,
            status=stream.choice(DECIDED if is_decided else statuses),
            submitted_at=submitted_at,
            ticket_ref=stream.choice(keys) if has_ticket else None,
        )


def _amount(request: kit.RequestRow) -> int:
    return int(request.fields["amount_cents"])


SCENARIO = AuditRemediation()
