"""Expense reports: receipts on file, one approval for the whole report, every record approved."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.facts import record_shown
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.outcome import OnceRecorded, Outcome, Request
from companyos_gateway.scenarios.blocks.approvers import leads_and_finance, members_without_role
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
from companyos_gateway.scenarios.expense_report.documents import (
    PERSONAL,
    UNITS,
    RefusalGround,
    Report,
    Variant,
    add_report,
)
from companyos_gateway.world.backlog import add_later_comment
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.people import FINANCE
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.datahub import DataHubEvent, PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TYPE_KEY = "expense_report"
STEPS_CENTS = {Role.TEAM_LEAD: 2_000, Role.FINANCE_CONTROLLER: 10_000, Role.CFO: 50_000}
"""The limits of priorities are multiples of these, by the role that decides."""

RECEIPT_FROM_CENTS = (1_500, 9_000)
LIMITS_CENTS = {"lodging": (9_000, 24_000), "meal": (3_000, 9_000)}
RECEIPT_MINUTES = (120, 960)
"""Office minutes until the employee files a missing receipt."""

MIN_DEPUTIES = 5


class ExpenseReport(DeclaredScenario[Report]):
    """Reimburse an expense by the policy: check record and receipts, get the approval for its amount, record it."""

    name, team, topic, max_steps = "expense_report", FINANCE, "expenses", 140
    tags, duplicate_tags = ("expenses",), ("expenses", "repayment")
    held_out = frozenset({Variant.SPLIT.value})
    always = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
    applicable = buildable_kinds(
        exclude=(*METRIC_KINDS, Kind.EXPIRED_CERTIFICATE), opt_in=DeclaredScenario.opt_in_kinds
    )
    distractors = (
        "ticketdesk_create_ticket",
        "ticketdesk_link_tickets",
        "datahub_report_data_issue",
        "datahub_query_metric",
        "approvalflow_create_delegation",
        "approvalflow_withdraw_approval",
    )
    tools = TICKET_TOOLS + RECORD_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + APPROVAL_TOOLS + distractors

    def draw(self, world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Report:
        """Add the report."""
        return add_report(world, stream, kinds, must_refuse=must_refuse)

    def slots(self, facts: Report) -> Mapping[str, str]:
        """Name the first record and the employee who paid."""
        first, owner = facts.first, facts.owner
        named = {"expense": first.id, "title": first.title, "owner": owner.name, "owner_id": owner.id}
        return named | {name: first.fields[name] for name in ("purpose", "cost_center", "incurred_on")}

    def figures(self, facts: Report, stream: Stream, priority: Priority, *, in_force: bool) -> PolicyParameters:
        """Draw the limits of priorities and categories; another version puts the report on the other side of them."""
        step, category = STEPS_CENTS[facts.role], facts.category
        medium, high, critical = draw_priority_limits(stream, facts.amount_cents, priority, step=step)
        limits = {name: 100 * stream.integer(low // 100, top // 100) for name, (low, top) in LIMITS_CENTS.items()}
        if category in UNITS:
            each = facts.amount_cents // facts.first.fields[UNITS[category]]
            is_over = (facts.ground is RefusalGround.OVER_LIMIT) is in_force
            share = stream.integer(60, 90) if is_over else stream.integer(105, 160)
            limits[category] = max(100, each * share // 10_000 * 100 + (0 if is_over else 100))
        excluded = stream.sample([name for name in PERSONAL if name != category], 2)
        if facts.ground is RefusalGround.PERSONAL:
            excluded.append(category)
        return {
            "medium_from_cents": medium,
            "high_from_cents": high,
            "critical_from_cents": critical,
            "receipt_from_cents": rounded_amount(stream, *RECEIPT_FROM_CENTS),
            "lodging_limit_cents": limits["lodging"],
            "meal_limit_cents": limits["meal"],
            "not_repaid": ", ".join(sorted(excluded)),
        }

    def thresholds(self, facts: Report, stream: Stream, request: Request) -> Sequence[tuple[int | None, Role]]:
        """Draw limits that put the whole report, and neither of two records alone, before the role that decides."""
        whole = facts.amount_cents
        largest = max(facts.amounts)
        above = rounded_amount(stream, whole, whole * 2)
        under = rounded_amount(stream, largest if largest < whole else whole // 2, whole - 500)
        limits = {
            Role.TEAM_LEAD: (above, above * stream.integer(3, 6)),
            Role.FINANCE_CONTROLLER: (under, above),
            Role.CFO: (max(500, under // stream.integer(4, 8) // 500 * 500), under),
        }
        manager_limit, controller_limit = limits[facts.role]
        return [
            (manager_limit, Role.TEAM_LEAD),
            (controller_limit, Role.FINANCE_CONTROLLER),
            (None, Role.CFO),
        ]

    def deputies(self, world: WorldBuilder, facts: Report, request: Request, kinds: Collection[Kind]) -> set[str]:
        """Return colleagues of the employee, for their manager; heads of departments where those are too few."""
        leads, excluded = leads_and_finance(world), {facts.owner.id, world.agent_id}
        if facts.role is not Role.TEAM_LEAD:
            return leads - excluded
        colleagues = members_without_role(world, FINANCE, facts.owner.team_id, "procurement") - excluded
        return colleagues if len(colleagues) >= MIN_DEPUTIES else (colleagues | leads) - excluded

    def solution(self, facts: Report, policy: PolicyRow, ticket_key: str) -> Solution:
        """Add a missing receipt and approve every record, or refuse."""
        first, ground, missing = facts.first.id, facts.ground, facts.missing_receipt
        has_receipts = OnceRecorded(True, first, missing, by_colleague=facts.variant is Variant.COMES)
        request = Request(
            type_key=TYPE_KEY,
            subject=first,
            role=facts.role,
            holder_ids=frozenset({facts.manager_id}) if facts.role is Role.TEAM_LEAD else None,
            amount_cents=facts.amount_cents,
            fields=request_fields(
                expense_id=first,
                amount_cents=facts.amount_cents,
                has_receipts=has_receipts if missing else facts.variant is not Variant.PER_DIEM,
                records=len(facts.records),
            ),
        )
        ids = [record.id for record in facts.records]
        outcome = Outcome(
            requests=(request,),
            goals=tuple(
                RecordGoal(record_id=one, state="approved", fields=missing if one == first else {}) for one in ids
            ),
            facts=tuple(record_shown(one) for one in (first, facts.paid_id) if one),
            subjects=tuple(ids),
        )
        references = policy_refs(policy) if facts.paid_id is None else (facts.paid_id,)
        refusal = Refusal(ground.value, references) if ground else None
        return Solution(variant=facts.variant, outcome=outcome, refusal=refusal)

    def add_events(
        self, world: WorldBuilder, stream: Stream, facts: Report, ticket: TaskTicket, kinds: Collection[Kind]
    ) -> None:
        """Let the employee announce a receipt that is still to come, and add it to the record later."""
        if facts.variant is not Variant.COMES:
            return
        body = stream.choice(self.texts()["receipts"]["comes"])
        add_later_comment(world, stream, ticket.ticket, author_id=facts.owner.id, body=body)
        due_at = world.company().add_office_minutes(world.started_at, stream.integer(*RECEIPT_MINUTES))
        data = {"record_id": facts.first.id, "fields": facts.missing_receipt}
        world.datahub.scheduled_events.append(DataHubEvent(due_at=due_at, kind="record", data=data))


SCENARIO = ExpenseReport()
