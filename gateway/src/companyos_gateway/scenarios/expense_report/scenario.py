"""Expense reports: receipts on file, one approval for the whole report, every record approved."""

from __future__ import annotations

from collections.abc import Mapping

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.expense_report.documents import (
    PERSONAL,
    UNITS,
    RefusalGround,
    Report,
    Variant,
    add_report,
)

TYPE_KEY = "expense_report"
STEPS_CENTS = {kit.Role.TEAM_LEAD: 2_000, kit.Role.FINANCE_CONTROLLER: 10_000, kit.Role.CFO: 50_000}
"""The limits of priorities are multiples of these, by the role that decides."""

RECEIPT_FROM_CENTS = (1_500, 9_000)
LIMITS_CENTS = {"lodging": (9_000, 24_000), "meal": (3_000, 9_000)}
RECEIPT_MINUTES = (120, 960)
"""Office minutes until the employee files a missing receipt."""

MIN_DEPUTIES = 5


class ExpenseReport(kit.DeclaredScenario[Report]):
    """Reimburse an expense by the policy: check record and receipts, get the approval for its amount, record it."""

    name, team, topic, max_steps = "expense_report", kit.FINANCE, "expenses", 140
    tags, duplicate_tags = ("expenses",), ("expenses", "repayment")
    held_out = frozenset({Variant.SPLIT.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.APPROVER_OUT_OF_OFFICE)
    applicable = kit.buildable_kinds(
        exclude=(*kit.METRIC_KINDS, kit.Kind.EXPIRED_CERTIFICATE), opt_in=kit.DeclaredScenario.opt_in_kinds
    )
    distractors = (*kit.USUAL_DISTRACTORS, "ticketdesk_link_tickets", "datahub_query_metric")

    def draw(self, build: kit.BuildContext) -> Report:
        """Add the report."""
        return add_report(build)

    def slots(self, facts: Report) -> Mapping[str, str]:
        """Name the first record and the employee who paid."""
        first, owner = facts.first, facts.owner
        named = {"expense": first.id, "title": first.title, "owner": owner.name, "owner_id": owner.id}
        return named | {name: first.fields[name] for name in ("purpose", "cost_center", "incurred_on")}

    def figures(self, facts: Report, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities and categories; another version puts the report on the other side of them."""
        step, category = STEPS_CENTS[facts.role], facts.category
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
            **kit.priority_limits(stream, facts.amount_cents, priority, step=step),
            "receipt_from_cents": kit.rounded_amount(stream, *RECEIPT_FROM_CENTS),
            "lodging_limit_cents": limits["lodging"],
            "meal_limit_cents": limits["meal"],
            "not_repaid": ", ".join(sorted(excluded)),
        }

    def thresholds(self, facts: Report, stream: kit.Stream, request: kit.Request) -> kit.Thresholds:
        """Draw limits that put the whole report, and neither of two records alone, before the role that decides."""
        whole = facts.amount_cents
        largest = max(facts.amounts)
        above = kit.rounded_amount(stream, whole, whole * 2)
        under = kit.rounded_amount(stream, largest if largest < whole else whole // 2, whole - 500)
        limits = {
            kit.Role.TEAM_LEAD: (above, above * stream.integer(3, 6)),
            kit.Role.FINANCE_CONTROLLER: (under, above),
            kit.Role.CFO: (max(500, under // stream.integer(4, 8) // 500 * 500), under),
        }
        manager_limit, controller_limit = limits[facts.role]
        return [
            (manager_limit, kit.Role.TEAM_LEAD),
            (controller_limit, kit.Role.FINANCE_CONTROLLER),
            (None, kit.Role.CFO),
        ]

    def deputies(self, build: kit.BuildContext, facts: Report, request: kit.Request) -> set[str]:
        """Return colleagues of the employee, for their manager; heads of departments where those are too few."""
        world = build.world
        leads, excluded = kit.leads_and_finance(world), {facts.owner.id, world.agent_id}
        if facts.role is not kit.Role.TEAM_LEAD:
            return leads - excluded
        colleagues = kit.members_without_role(world, kit.FINANCE, facts.owner.team_id, "procurement") - excluded
        return colleagues if len(colleagues) >= MIN_DEPUTIES else (colleagues | leads) - excluded

    def solution(self, facts: Report, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Add a missing receipt and approve every record, or refuse."""
        first, ground, missing = facts.first.id, facts.ground, facts.missing_receipt
        has_receipts = kit.OnceRecorded(True, first, missing, by_colleague=facts.variant is Variant.COMES)
        request = kit.Request(
            type_key=TYPE_KEY,
            subject=first,
            role=facts.role,
            holder_ids=frozenset({facts.manager_id}) if facts.role is kit.Role.TEAM_LEAD else None,
            amount_cents=facts.amount_cents,
            fields=kit.request_fields(
                expense_id=first,
                amount_cents=facts.amount_cents,
                has_receipts=has_receipts if missing else facts.variant is not Variant.PER_DIEM,
                records=len(facts.records),
            ),
        )
        ids = [record.id for record in facts.records]
        outcome = kit.Outcome(
            requests=(request,),
            goals=tuple(
                kit.RecordGoal(record_id=one, state="approved", fields=missing if one == first else {}) for one in ids
            ),
            facts=tuple(kit.record_shown(one) for one in (first, facts.paid_id) if one),
            subjects=tuple(ids),
        )
        references = kit.policy_refs(policy) if facts.paid_id is None else (facts.paid_id,)
        refusal = kit.Refusal(ground.value, references) if ground else None
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=refusal)

    def add_events(self, build: kit.BuildContext, facts: Report, ticket: kit.TaskTicket) -> None:
        """Let the employee announce a receipt that is still to come, and add it to the record later."""
        world, stream = build.world, build.stream
        if facts.variant is not Variant.COMES:
            return
        body = stream.choice(self.texts()["receipts"]["comes"])
        kit.add_later_comment(world, stream, ticket.ticket, author_id=facts.owner.id, body=body)
        due_at = world.company().add_office_minutes(world.started_at, stream.integer(*RECEIPT_MINUTES))
        data = {"record_id": facts.first.id, "fields": facts.missing_receipt}
        world.datahub.scheduled_events.append(kit.DataHubEvent(due_at=due_at, kind="record", data=data))


SCENARIO = ExpenseReport()
