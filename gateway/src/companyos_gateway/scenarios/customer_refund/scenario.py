"""Refund claims of customers: settled for what was returned and accepted, or refused; suspected fraud is reported."""

from __future__ import annotations

from collections.abc import Mapping

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.customer_refund.documents import (
    REGULAR,
    SPECIAL_SALES,
    Claim,
    RefusalGround,
    Variant,
    add_claim,
)

TYPE_KEY, FRAUD = "customer_refund", "fraud_suspected"


class CustomerRefund(kit.DeclaredScenario[Claim]):
    """Decide a refund claim: check the return, choose the remedy and get it approved, or refuse the claim."""

    name, team, topic, max_steps = "customer_refund", kit.FINANCE, "refunds", 140
    tags, duplicate_tags, precise_citation = ("refunds",), ("refunds", "customers"), "order"
    held_out = frozenset({Variant.GOODWILL.value})
    always = (kit.Kind.MISSING_PRIORITY,)
    applicable = kit.buildable_kinds(
        exclude=(*kit.METRIC_KINDS, kit.Kind.EXPIRED_CERTIFICATE), opt_in=kit.DeclaredScenario.opt_in_kinds
    )
    distractors = (
        "ticketdesk_create_ticket",
        "ticketdesk_link_tickets",
        "datahub_query_metric",
        "datahub_get_vendor",
        "approvalflow_create_delegation",
    )
    tools = (*kit.USUAL_TOOLS, "datahub_report_data_issue")

    def draw(self, build: kit.BuildContext) -> Claim:
        """Add the claim and its records."""
        return add_claim(build)

    def slots(self, facts: Claim) -> Mapping[str, str]:
        """Return the claim, the order and the customer."""
        named = {"claim": facts.record.id, "order": facts.order.id}
        named |= {"customer": facts.customer.title, "customer_id": facts.customer.id}
        return named | {name: facts.order.fields[name] for name in ("item", "delivery_number", "delivered_on")}

    def figures(self, facts: Claim, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw limits, deadlines and shares; another version puts the claim on the other side of the deadlines."""
        amount, cap, sale_type = facts.amount_cents, facts.goodwill_cap_cents, facts.order.fields["sale_type"]
        cap_step = kit.limit_step(cap)
        refund_days, goodwill_days = _draw_deadlines(facts, stream, is_late=facts.is_late is in_force)
        excluded = stream.sample([one for one in SPECIAL_SALES if one != sale_type], 1)
        if sale_type != REGULAR and (facts.ground is RefusalGround.EXCLUDED) is in_force:
            excluded.append(sale_type)
        return {
            **kit.priority_limits(stream, amount, priority, step=kit.limit_step(amount)),
            "refund_days": refund_days,
            "goodwill_days": goodwill_days,
            "goodwill_cap_cents": cap if in_force else cap - cap_step * stream.integer(1, 6),
            "opened_percent": facts.opened_percent if in_force else facts.opened_percent - 5 * stream.integer(1, 6),
            "excluded_sales": ", ".join(sorted(excluded)),
        }

    def thresholds(self, facts: Claim, stream: kit.Stream, request: kit.Request) -> kit.Thresholds:
        """Draw limits by which the role decides about the granted amount; the claimed one may need a higher role."""
        amount, claimed = facts.amount_cents, facts.record.amount_cents or 0
        if facts.role is kit.Role.CFO:
            limit = kit.rounded_amount(stream, amount // 2, amount - 500)
        else:
            limit = kit.rounded_amount(stream, amount, claimed - 500 if claimed > amount else amount * 2)
        return [(limit, kit.Role.FINANCE_CONTROLLER), (None, kit.Role.CFO)]

    def solution(self, facts: Claim, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Have the amount approved and recorded, or refuse, after reporting any fraud."""
        claim_id, customer, amount, remedy = facts.record.id, facts.customer, facts.amount_cents, facts.remedy
        accepted_ids = tuple(one.id for one in facts.accepted)
        request = kit.Request(
            type_key=TYPE_KEY,
            subject=claim_id,
            role=facts.role,
            amount_cents=amount,
            fields=kit.request_fields(
                claim_id=claim_id,
                accepted_quantity=kit.RecordSum(accepted_ids, "quantity", "accepted"),
                remedy=remedy,
                amount_cents=amount,
            ),
        )
        settled = kit.RecordGoal(
            record_id=claim_id,
            state="approved",
            fields={"remedy": remedy, "approved_cents": amount},
            reference_field="approval_ref",
        )
        credited = kit.RecordGoal(
            record_id=customer.id,
            fields={"credit_cents": customer.fields["credit_cents"] + amount},
        )
        refusal, known = _refuse(facts, policy)
        subjects, act = frozenset({claim_id, customer.id}), None
        if refusal is not None and refusal.code == FRAUD:
            act = kit.IssueReported(kit.IssueReportGoal(kind="suspicious", subjects=subjects, refusal=refusal))
        outcome = kit.Outcome(
            requests=(request,),
            goals=(settled,) if remedy == "refund" else (settled, credited),
            act=act,
            facts=known,
            subjects=tuple(sorted(subjects)),
        )
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=refusal)

    def add_events(self, build: kit.BuildContext, facts: Claim, ticket: kit.TaskTicket) -> None:
        """Add a comment that announces an inspection, and schedule the acceptance of the return."""
        if facts.variant is Variant.INSPECTED:
            [returned] = facts.returns
            kit.schedule_inspection(build, returned, ticket.ticket, self.texts()["inspections"])


def _draw_deadlines(facts: Claim, stream: kit.Stream, *, is_late: bool) -> tuple[int, int]:
    """Draw the days for a refund and the further days for goodwill, in multiples of five.

    A claim for goodwill is within the sum of both.
    """
    if not is_late:
        return (facts.age_days + 4) // 5 * 5 + 5 * stream.integer(0, 4), 5 * stream.integer(1, 4)
    refund_days = (facts.age_days - 6) // 5 * 5
    is_too_late = facts.customer.fields["key_account"] and facts.variant is not Variant.GOODWILL
    return refund_days, 5 if is_too_late else 5 * stream.integer(2, 4)


def _refuse(facts: Claim, policy: kit.PolicyRow) -> tuple[kit.Refusal | None, tuple[kit.Fact, ...]]:
    """Return the refusal and the facts on which it is based."""
    claim, order, customer = (kit.record_shown(one.id) for one in (facts.record, facts.order, facts.customer))
    match facts.ground:
        case RefusalGround.ACCOUNT:
            return kit.Refusal(FRAUD, (facts.record.id,)), (customer, order)
        case RefusalGround.DELIVERY:
            other = kit.record_found(facts.conflicting_id, facts.record.fields["delivery_number"])
            return kit.Refusal(FRAUD, (facts.record.id,)), (claim, other)
        case RefusalGround.DUPLICATE:
            other = kit.record_found(facts.conflicting_id, facts.order.id)
            return kit.Refusal("duplicate", (facts.conflicting_id,)), (claim, other)
        case RefusalGround.EXCLUDED:
            return kit.Refusal("not_entitled", kit.policy_refs(policy)), (order,)
        case RefusalGround.LATE:
            known = (claim, order) if facts.customer.fields["key_account"] else (claim, order, customer)
            return kit.Refusal("policy_violation", kit.policy_refs(policy)), known
        case RefusalGround.NOT_RETURNED:
            rejected = (kit.record_shown(one.id, "state") for one in facts.returns)
            return kit.Refusal("requirement_not_met", (facts.order.id,)), (claim, *rejected)
    return None, ()


SCENARIO = CustomerRefund()
