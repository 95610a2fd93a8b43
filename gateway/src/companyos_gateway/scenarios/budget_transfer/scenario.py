"""Budget transfers: one request for the whole amount, earlier partial requests ended, both lines booked afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.budget_transfer.documents import (
    STEP_CENTS,
    TYPE_KEY,
    RefusalGround,
    Transfer,
    Variant,
    add_lines,
    add_partial_requests,
    draw_round_amount,
)

PRIORITY_STEP_CENTS = 50_000
WINDOW_DAYS = (5, 8)
"""Range of days within which requests for the same transfer are parts of it."""


class BudgetTransfer(kit.DeclaredScenario[Transfer]):
    """Move money between two budget lines in one piece: end its parts, have the whole approved, book both lines."""

    name, team, topic, max_steps = "budget_transfer", kit.FINANCE, "transfers", 150
    tags, duplicate_tags, precise_citation = ("budget", "transfer"), ("budget",), "title"
    held_out = frozenset({Variant.BOTH.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.APPROVER_OUT_OF_OFFICE)
    applicable = kit.buildable_kinds(exclude=(*kit.METRIC_KINDS, kit.Kind.EXPIRED_CERTIFICATE))
    distractors = (
        "datahub_report_data_issue",
        "ticketdesk_create_ticket",
        "approvalflow_create_delegation",
        "approvalflow_escalate_approval",
    )
    tools = (*kit.USUAL_TOOLS, "approvalflow_withdraw_approval", "approvalflow_cancel_approval")

    def draw(self, build: kit.BuildContext) -> Transfer:
        """Add the two lines, and one that looks like the source line."""
        return add_lines(build)

    def slots(self, facts: Transfer) -> Mapping[str, str]:
        """Name the lines and the amount."""
        giver, taker = facts.giver, facts.taker
        return {
            "giver": giver.id,
            "taker": taker.id,
            "giver_title": giver.title,
            "taker_title": taker.title,
            "title": taker.title,
            "giver_center": giver.fields["cost_center"],
            "taker_center": taker.fields["cost_center"],
            "amount": f"{facts.amount_cents // 100:,}",
        }

    def answers(self, build: kit.BuildContext, facts: Transfer) -> Mapping[str, kit.AcceptedValue]:
        """Name the cost center of the target line and the budget of the source line."""
        budget_cents = facts.giver.fields["budget_cents"]
        return {
            "taker_center": facts.taker.fields["cost_center"],
            "giver_budget_cents": budget_cents,
            "giver_budget": f"{budget_cents / 100:.2f}",
        }

    def duplicate_texts(self, facts: Transfer) -> Sequence[str]:
        """Return questions about the lines."""
        texts: Sequence[str] = self.texts()["asks"]
        return texts

    def reporter_id(self, facts: Transfer) -> str:
        """Return who ordered the transfer: the owner of the source line, or somebody who may not."""
        return facts.reporter_id

    def figures(self, facts: Transfer, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities, the reserve and the window; another version decides otherwise about both."""
        reserve, left = facts.reserve_cents, facts.left_cents
        if not in_force and facts.ground is RefusalGround.TOO_LITTLE:
            reserve = draw_round_amount(stream, 0, left)
        elif not in_force:
            reserve = left + draw_round_amount(stream, STEP_CENTS, 900_000)
        return {
            **kit.priority_limits(stream, facts.amount_cents, priority, step=PRIORITY_STEP_CENTS),
            "reserve_cents": reserve,
            "window_days": stream.integer(*WINDOW_DAYS) if in_force else stream.choice([1, 14]),
        }

    def take_slot(self, build: kit.BuildContext) -> kit.KeySlot:
        """Take a key of the last days, so that earlier requests have not expired."""
        world, stream = build.world, build.stream
        world.ticket_slots[kit.FINANCE] += kit.recent_key_slots(world, stream, kit.FINANCE, 2)
        return super().take_slot(build)

    def complete(self, build: kit.BuildContext, facts: Transfer, policy: kit.PolicyRow, slot: kit.KeySlot) -> Transfer:
        """Add earlier requests, some of which are parts of the transfer."""
        window_days = policy.parameters["window_days"]
        return add_partial_requests(build, facts, window_days=window_days, ordered_on=slot.created_at.date())

    def thresholds(self, facts: Transfer, stream: kit.Stream, request: kit.Request) -> kit.Thresholds:
        """Let a finance controller decide up to the limit, and the CFO above."""
        return [(facts.limit_cents, kit.Role.FINANCE_CONTROLLER), (None, kit.Role.CFO)]

    def solution(self, facts: Transfer, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """End the parts; then book the whole amount after its approval, or refuse."""
        giver, taker, amount = facts.giver, facts.taker, facts.amount_cents
        refs = kit.policy_refs(policy)
        withdrawn = [kit.RequestWithdrawn(one) for one in facts.own_parts]
        reason = kit.Refusal(RefusalGround.MIXED.value, refs)
        parts = kit.EntityGoals(
            "parts_ended", [*withdrawn, *(kit.RequestCancelled(one, reason) for one in facts.others_parts)]
        )
        request = kit.Request(
            type_key=TYPE_KEY,
            subject=ticket_key,
            role=facts.role,
            amount_cents=amount,
            fields=kit.request_fields(from_line=giver.id, to_line=taker.id, amount_cents=amount),
        )
        booked = {giver.id: giver.fields["budget_cents"] - amount, taker.id: taker.fields["budget_cents"] + amount}
        outcome = kit.Outcome(
            requests=(request,),
            prepared=(parts,) if parts.goals else (),
            goals=tuple(
                kit.RecordGoal(record_id=line, fields={"budget_cents": budget}, do_fields_need_approval=True)
                for line, budget in booked.items()
            ),
            facts=tuple(map(kit.record_shown, booked if facts.ground is RefusalGround.MIXED else [giver.id])),
            subjects=(giver.id, taker.id),
        )
        references = {
            RefusalGround.TOO_LITTLE: (giver.id,),
            RefusalGround.MIXED: refs,
            RefusalGround.NOT_THE_OWNER: (facts.reporter_id,),
        }
        return kit.Solution(
            variant=facts.variant,
            outcome=outcome,
            refusal=kit.Refusal(facts.ground.value, references[facts.ground]) if facts.ground else None,
            struck={kit.Kind.SIMILAR_NAMES: (facts.lookalike or giver).id},
        )


SCENARIO = BudgetTransfer()
