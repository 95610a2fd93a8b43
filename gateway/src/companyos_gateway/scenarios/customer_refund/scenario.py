"""Refund claims of customers: settled for what was returned and accepted, or refused; suspected fraud is reported."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.facts import Fact, record_shown
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.outcome import FraudReported, Outcome, RecordSum, Request
from companyos_gateway.evaluation.record_corrections import IssueReportGoal
from companyos_gateway.scenarios.blocks.declared_scenario import (
    DeclaredScenario,
    Solution,
    policy_refs,
    request_fields,
)
from companyos_gateway.scenarios.blocks.policy_versions import PolicyParameters, draw_priority_limits
from companyos_gateway.scenarios.blocks.ticket import TaskTicket
from companyos_gateway.scenarios.blocks.ticket_scenario import METRIC_KINDS, buildable_kinds
from companyos_gateway.scenarios.blocks.tools import (
    APPROVAL_TOOLS,
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    RECORD_TOOLS,
    TICKET_TOOLS,
)
from companyos_gateway.scenarios.customer_refund.documents import (
    SALE_TYPES,
    Claim,
    RefusalGround,
    Variant,
    add_claim,
)
from companyos_gateway.world.backlog import add_later_comment
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.people import FINANCE
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.datahub import DataHubEvent, PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TYPE_KEY = "customer_refund"
STEPS_CENTS = {Role.FINANCE_CONTROLLER: 2_000, Role.CFO: 20_000}
"""The limits of priorities are multiples of these, by the role that decides."""

INSPECTION_MINUTES = (120, 960)
"""Office minutes until a recorded return is accepted."""


class CustomerRefund(DeclaredScenario[Claim]):
    """Settle a refund claim by the policy: what was returned, by which remedy and by whose approval; or refuse it."""

    name, team, topic, max_steps = "customer_refund", FINANCE, "refunds", 140
    tags, duplicate_tags, precise_citation = ("refunds",), ("refunds", "customers"), "order"
    held_out = frozenset({Variant.GOODWILL.value})
    always = (Kind.MISSING_PRIORITY,)
    applicable = buildable_kinds(
        exclude=(*METRIC_KINDS, Kind.EXPIRED_CERTIFICATE), opt_in=DeclaredScenario.opt_in_kinds
    )
    distractors = (
        "ticketdesk_create_ticket",
        "ticketdesk_link_tickets",
        "datahub_query_metric",
        "datahub_get_vendor",
        "approvalflow_create_delegation",
        "approvalflow_withdraw_approval",
    )
    tools = (
        *TICKET_TOOLS,
        *RECORD_TOOLS,
        "datahub_report_data_issue",
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *distractors,
    )

    def draw(self, world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Claim:
        """Add the claim and what is on file about it."""
        return add_claim(world, stream, kinds, must_refuse=must_refuse)

    def slots(self, facts: Claim) -> Mapping[str, str]:
        """Name the claim, the order and the customer."""
        return {
            "claim": facts.record.id,
            "order": facts.order.id,
            "customer": facts.customer.title,
            "customer_id": facts.customer.id,
            "item": facts.order.fields["item"],
            "delivery_number": facts.order.fields["delivery_number"],
            "delivered_on": facts.order.fields["delivered_on"],
        }

    def figures(self, facts: Claim, stream: Stream, priority: Priority, *, in_force: bool) -> PolicyParameters:
        """Draw limits, deadlines and shares; another version puts the claim on the other side of deadlines."""
        step, sale_type, cap = STEPS_CENTS[facts.role], facts.order.fields["sale_type"], facts.goodwill_cap_cents
        medium, high, critical = draw_priority_limits(stream, facts.amount_cents, priority, step=step)
        refund_days, goodwill_days = _draw_deadlines(facts, stream, is_late=facts.is_late is in_force)
        excluded = stream.sample([one for one in SALE_TYPES[1:] if one != sale_type], 1)
        if sale_type != SALE_TYPES[0] and (facts.ground is RefusalGround.EXCLUDED) is in_force:
            excluded.append(sale_type)
        return {
            "medium_from_cents": medium,
            "high_from_cents": high,
            "critical_from_cents": critical,
            "refund_days": refund_days,
            "goodwill_days": goodwill_days,
            "goodwill_cap_cents": cap if in_force else rounded_amount(stream, cap // 2, cap - 500),
            "opened_percent": facts.opened_percent if in_force else facts.opened_percent - 5 * stream.integer(1, 6),
            "excluded_sales": ", ".join(sorted(excluded)),
        }

    def thresholds(self, facts: Claim, stream: Stream, request: Request) -> Sequence[tuple[int | None, Role]]:
        """Let the limit of the controllers lie between the amount that is granted and the one that is claimed."""
        amount, claimed = facts.amount_cents, facts.record.amount_cents or 0
        if facts.role is Role.CFO:
            limit = rounded_amount(stream, amount // 2, amount - 500)
        else:
            limit = rounded_amount(stream, amount, claimed - 500 if claimed > amount else amount * 2)
        return [(limit, Role.FINANCE_CONTROLLER), (None, Role.CFO)]

    def solution(self, facts: Claim, policy: PolicyRow, ticket_key: str) -> Solution:
        """Have the amount approved and recorded, or refuse, and report fraud before."""
        claim_id, customer, amount, remedy = facts.record.id, facts.customer, facts.amount_cents, facts.remedy
        refusal = _refusal(facts, policy)
        request = Request(
            type_key=TYPE_KEY,
            subject=claim_id,
            role=facts.role,
            amount_cents=amount,
            fields=request_fields(
                claim_id=claim_id,
                accepted_quantity=RecordSum(facts.accepted_ids, "quantity", "accepted"),
                remedy=remedy,
                amount_cents=amount,
            ),
        )
        settled = RecordGoal(
            record_id=claim_id,
            state="approved",
            fields={"remedy": remedy, "approved_cents": amount},
            reference_field="approval_ref",
            do_fields_need_approval=True,
        )
        credited = RecordGoal(
            record_id=customer.id,
            fields={"credit_cents": customer.fields["credit_cents"] + amount},
            do_fields_need_approval=True,
        )
        act = None
        if refusal is not None and refusal.code == "fraud_suspected":
            subjects = frozenset({claim_id, customer.id})
            act = FraudReported(IssueReportGoal(kind="suspicious", subjects=subjects, refusal=refusal))
        outcome = Outcome(
            requests=(request,),
            goals=(settled,) if remedy == "refund" else (settled, credited),
            act=act,
            facts=_facts_against(facts),
            subjects=(claim_id, customer.id),
        )
        return Solution(variant=facts.variant, outcome=outcome, refusal=refusal)

    def add_events(
        self, world: WorldBuilder, stream: Stream, facts: Claim, ticket: TaskTicket, kinds: Collection[Kind]
    ) -> None:
        """Let a colleague announce an inspection, and accept the return later."""
        if facts.variant is not Variant.INSPECTED:
            return
        due_at = world.company().add_office_minutes(world.started_at, stream.integer(*INSPECTION_MINUTES))
        people = [one for one in world.present(world.today, due_at.date()) if one.id != world.agent_id]
        [returned], inspector = facts.returns, stream.choice(people)
        returned.owner_id = inspector.id
        data = {"record_id": returned.id, "state": "accepted"}
        world.datahub.scheduled_events.append(DataHubEvent(due_at=due_at, kind="record", data=data))
        body = stream.choice(self.texts()["inspections"])
        add_later_comment(world, stream, ticket.ticket, author_id=inspector.id, body=body)


def _draw_deadlines(facts: Claim, stream: Stream, *, is_late: bool) -> tuple[int, int]:
    """Draw the days for a refund, and the further days for goodwill, which a late claim meets if it gets goodwill."""
    if not is_late:
        return facts.age_days + stream.integer(0, 20), stream.integer(5, 20)
    if facts.variant is Variant.GOODWILL:
        over_days = stream.integer(1, 8)
        return facts.age_days - over_days, over_days + stream.integer(0, 12)
    if facts.customer.fields["key_account"]:
        goodwill_days = stream.integer(2, 4)
        return facts.age_days - goodwill_days - stream.integer(1, 4), goodwill_days
    return facts.age_days - stream.integer(1, 8), stream.integer(8, 20)


def _refusal(facts: Claim, policy: PolicyRow) -> Refusal | None:
    match facts.ground:
        case None:
            return None
        case RefusalGround.ACCOUNT | RefusalGround.DELIVERY:
            return Refusal("fraud_suspected", (facts.record.id,))
        case RefusalGround.DUPLICATE:
            assert facts.paid is not None
            return Refusal("duplicate", (facts.paid.id,))
        case RefusalGround.EXCLUDED:
            return Refusal("not_entitled", policy_refs(policy))
        case RefusalGround.LATE:
            return Refusal("policy_violation", policy_refs(policy))
        case RefusalGround.NOT_RETURNED:
            return Refusal("requirement_not_met", (facts.order.id,))


def _facts_against(facts: Claim) -> tuple[Fact, ...]:
    """Return the facts on which a refusal rests."""
    claim, order = record_shown(facts.record.id), record_shown(facts.order.id)
    match facts.ground:
        case RefusalGround.ACCOUNT:
            return record_shown(facts.customer.id), order
        case RefusalGround.DELIVERY:
            return (claim, *(record_shown(one.id) for one in (facts.other,) if one))
        case RefusalGround.DUPLICATE:
            return (claim, *(record_shown(one.id) for one in (facts.paid,) if one))
        case RefusalGround.EXCLUDED:
            return (order,)
        case RefusalGround.NOT_RETURNED:
            return (claim, *(record_shown(one.id, "state") for one in facts.returns))
    return claim, order


SCENARIO = CustomerRefund()
