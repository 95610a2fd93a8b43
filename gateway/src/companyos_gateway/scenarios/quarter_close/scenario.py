"""Quarter closes: documents settled, parts resolved, the totals approved, the budget line closed, in this order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.quarter_close.documents import (
    PRICES_CENTS,
    Documents,
    Quarter,
    RefusalGround,
    Settled,
    Variant,
    add_budget_used,
)

STEPS_CENTS = {kit.Role.FINANCE_CONTROLLER: 20_000, kit.Role.CFO: 400_000}
"""Steps of the limits of priorities in cents, by the role that decides."""

EXPENSE_STEP = 5_000
"""Step of the limit of expenses in cents."""

CONTROLLER_LIMIT_CENTS = (3_700_000, 4_400_000)
"""Range of the limit up to which a finance controller decides, in cents; totals for the CFO exceed it."""


@dataclass(frozen=True, kw_only=True)
class Close:
    """The close of a quarter for a cost center."""

    variant: Variant
    ground: RefusalGround | None
    role: kit.Role
    quarter: Quarter
    tolerance: int
    expense_limit: int
    line: kit.RecordRow
    invoices: tuple[Settled, ...]
    others: tuple[Settled, ...]
    """The other documents that have to be settled."""
    void: kit.RecordRow | None
    """The invoice on an order that was canceled, if there is one."""
    metric: kit.MetricSpec
    part_keys: tuple[str, ...] = ()
    """The tickets that block the close until their part of it is done: the invoices first, then the others."""
    other_key: str = ""
    """The other ticket under which the quarter is already being closed, if there is one."""

    @property
    def approved_cents(self) -> int:
        """The total of the approved invoices."""
        return sum(one.record.amount_cents or 0 for one in self.invoices if one.goal.state == "approved")

    @property
    def budget_cents(self) -> int:
        """The budget of the quarter."""
        return self.line.amount_cents or 0


class QuarterClose(kit.DeclaredScenario[Close]):
    """Close a cost center's quarter: settle records, resolve its tickets, get totals approved, and close the line."""

    name, team, topic, max_steps = "quarter_close", "finance", "closing", 240
    tags, duplicate_tags = ("close",), ("close",)
    held_out = frozenset({Variant.ORDERS.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.STALE_METRIC)
    opt_in_kinds = frozenset[kit.Kind]()
    applicable = kit.buildable_kinds(exclude=(kit.Kind.EXPIRED_CERTIFICATE, kit.Kind.SIMILAR_NAMES))
    distractors = (*kit.USUAL_DISTRACTORS, "datahub_update_vendor")
    tools = (*kit.USUAL_TOOLS, *kit.METRIC_TOOLS)

    def draw(self, build: kit.BuildContext) -> Close:
        """File the documents of a cost center."""
        world, stream = build.world, build.stream
        ground = build.draw_ground(RefusalGround)
        variant, role = stream.choice(list(Variant)), stream.choice(list(PRICES_CENTS))
        tolerance, expense_limit = stream.integer(2, 5), EXPENSE_STEP * stream.integer(6, 12)
        quarter = Quarter.ended_before(world.ticket_slots[self.team][0].created_at.date())
        documents = Documents(build.child("documents"), quarter, role, self.texts())
        line, is_over = documents.budget_line(), ground is RefusalGround.OVERSPENT
        return Close(
            variant=variant,
            ground=ground,
            role=role,
            quarter=quarter,
            tolerance=tolerance,
            expense_limit=expense_limit,
            line=line,
            invoices=documents.invoices(tolerance),
            others=documents.others(variant, expense_limit),
            void=documents.void_invoice() if ground is RefusalGround.CANCELLED_ORDER else None,
            metric=add_budget_used(build.child("metric"), line, is_over=is_over),
        )

    def slots(self, facts: Close) -> Mapping[str, str]:
        """Return the cost center, the quarter, the budget with its line, and an invoice."""
        return {
            "cc": facts.line.fields["cost_center"],
            "line": facts.line.id,
            "invoice": facts.invoices[0].record.id,
            "quarter": str(facts.quarter),
            "budget_cents": str(facts.budget_cents),
            "budget": f"{facts.budget_cents / 100:.2f}",
        }

    def figures(self, facts: Close, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities; another version has a higher tolerance."""
        step = STEPS_CENTS[facts.role]
        has_expenses = facts.variant is Variant.EXPENSES
        return {
            "tolerance_percent": facts.tolerance + (0 if in_force else stream.integer(5, 9)),
            **({"expense_limit_cents": facts.expense_limit} if has_expenses else {}),
            **kit.priority_limits(stream, facts.approved_cents, priority, step=step),
        }

    def policy_body(self, facts: Close, figures: kit.Figures) -> str:
        """Return the policy text with the section on the documents besides the invoices."""
        words = self.texts()["policy"]
        return str(words["body"]).replace("DOCUMENTS", words[facts.variant.value])

    def take_slot(self, build: kit.BuildContext) -> kit.KeySlot:
        """Take a key that leaves at least two newer ones for the tickets that refer to this one."""
        world, stream = build.world, build.stream
        return world.ticket_slots[self.team].pop(-stream.integer(3, 4))

    def complete(self, build: kit.BuildContext, facts: Close, policy: kit.PolicyRow, slot: kit.KeySlot) -> Close:
        """Add the tickets of the parts, and another ticket for the same close."""
        world, stream = build.world, build.stream
        words, is_closed_before = self.texts(), facts.ground is RefusalGround.CLOSED_BEFORE
        part_keys = []
        for name in ["invoices", facts.variant.value][: 1 if is_closed_before else 2]:
            part = words["part"][name]
            ticket = self._add_ticket(build.child(name), facts, part["title"], part["description"], slot.key)
            _add_block(world, ticket, slot)
            part_keys.append(ticket.key)
        if not is_closed_before:
            return replace(facts, part_keys=tuple(part_keys))
        title, text, body = stream.choice(words["titles"]), stream.choice(words["others"]), words["other_comment"]
        other = self._add_ticket(build.child("other"), facts, title, text, slot.key)
        kit.add_comment(world, other, author_id=other.assignee_id or "", at=other.updated_at, body=body)
        return replace(facts, other_key=other.key)

    def thresholds(self, facts: Close, stream: kit.Stream, request: kit.Request) -> kit.Thresholds:
        """Draw the limit of finance controllers."""
        limit = kit.rounded_amount(stream, *CONTROLLER_LIMIT_CENTS)
        return [(limit, kit.Role.FINANCE_CONTROLLER), (None, kit.Role.CFO)]

    def solution(self, facts: Close, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Settle the documents, resolve the parts, get the totals approved and close the line, or refuse."""
        line, metric = facts.line, facts.metric
        invoices = kit.EntityGoals("invoices_settled", [one.goal for one in facts.invoices])
        others = kit.EntityGoals("documents_settled", [one.goal for one in facts.others])
        parts: list[kit.EntityGoal] = [
            kit.PartResolved(key, part.goals) for key, part in zip(facts.part_keys, (invoices, others), strict=False)
        ]
        request = kit.Request(
            type_key=self.name,
            subject=line.id,
            role=facts.role,
            amount_cents=facts.approved_cents,
            fields=kit.request_fields(
                budget_line_id=line.id,
                amount_cents=kit.AfterGoalsMet(facts.approved_cents, invoices),
                invoices_held=kit.AfterGoalsMet(sum(one.goal.state == "on_hold" for one in facts.invoices), invoices),
                budget_used=kit.MetricValue(metric),
                measured_at=kit.MetricTime(metric),
            ),
        )
        spent = {"spent_cents": round(metric.value * 100)}
        outcome = kit.Outcome(
            requests=(request,),
            prepared=() if facts.ground else (invoices, others, kit.EntityGoals("parts_resolved", parts)),
            goals=(kit.RecordGoal(record_id=line.id, state="closed", fields=spent),),
            facts=_facts_against(facts),
            declined="quarter_declined",
            metrics=(metric,),
            subjects=(line.id,),
        )
        against_id = facts.void.id if facts.void else facts.other_key or line.id
        refusal = kit.refusal_for(facts.ground, policy, against_id)
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=refusal)

    def _add_ticket(self, build: kit.BuildContext, facts: Close, title: str, text: str, task_key: str) -> kit.TicketRow:
        """Add a ticket that colleagues have started, and return it."""
        world, stream = build.world, build.stream
        slot = world.ticket_slots[self.team].pop()
        people = [one.id for one in world.staff.active(self.team) if one.id != world.agent_id]
        return build.file_ticket(
            slot,
            title=title.format(**self.slots(facts)),
            description=text.format(**self.slots(facts), task=task_key),
            status="in_progress",
            priority="medium",
            assignee_id=stream.choice(people),
            reporter_id=stream.choice(people),
            team_id=self.team,
            tags=self.tags,
        )


def _add_block(world: kit.WorldBuilder, part: kit.TicketRow, slot: kit.KeySlot) -> None:
    """Link the ticket of a part as a blocker of the task's ticket."""
    link = kit.LinkRow(
        id="",
        kind="blocks",
        from_key=part.key,
        to_key=slot.key,
        created_at=max(part.created_at, slot.created_at),
        created_by=part.reporter_id,
    )
    world.ticketdesk.links.append(link)


def _facts_against(facts: Close) -> tuple[kit.Fact, ...]:
    """Return the facts on which a refusal is based."""
    if facts.ground is RefusalGround.OVERSPENT:
        above = kit.MetricChecks(facts.metric).above_fact(facts.budget_cents / 100)
        return kit.record_shown(facts.line.id, "amount_cents"), above
    if facts.void is not None:
        return tuple(kit.record_shown(one, "state") for one in (facts.void.id, facts.void.fields["purchase_order_id"]))
    return (kit.ticket_status_shown(facts.other_key),)


SCENARIO = QuarterClose()
