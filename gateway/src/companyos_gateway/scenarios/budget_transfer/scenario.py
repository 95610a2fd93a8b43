"""Budget transfers: one request for the whole amount, earlier partial requests ended, both lines booked afterwards."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.entity_goals import EntityGoals, RequestCancelled, RequestWithdrawn
from companyos_gateway.evaluation.facts import record_shown
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.outcome import Outcome, Request
from companyos_gateway.scenarios.blocks.declared_scenario import (
    DeclaredScenario,
    Solution,
    policy_refs,
    request_fields,
)
from companyos_gateway.scenarios.blocks.extra_tickets import recent_key_slots
from companyos_gateway.scenarios.blocks.policy_versions import PolicyParameters, draw_priority_limits
from companyos_gateway.scenarios.blocks.ticket_scenario import METRIC_KINDS, buildable_kinds
from companyos_gateway.scenarios.blocks.tools import (
    APPROVAL_TOOLS,
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    RECORD_TOOLS,
    TICKET_TOOLS,
)
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
from companyos_gateway.world.builder import KeySlot, WorldBuilder
from companyos_gateway.world.people import FINANCE
from companyos_gateway.world.seed_documents.approvalflow import AcceptedValue
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

PRIORITY_STEP_CENTS = 50_000
WINDOW_DAYS = (5, 8)
"""Range of days within which requests for the same transfer are parts of it."""


class BudgetTransfer(DeclaredScenario[Transfer]):
    """Move money between two budget lines in one piece: end its parts, have the whole approved, book both lines."""

    name, team, topic, max_steps = "budget_transfer", FINANCE, "transfers", 150
    tags, duplicate_tags, precise_citation = ("budget", "transfer"), ("budget",), "title"
    held_out = frozenset({Variant.BOTH.value})
    always = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
    applicable = buildable_kinds(exclude=(*METRIC_KINDS, Kind.EXPIRED_CERTIFICATE))
    distractors = (
        "datahub_report_data_issue",
        "ticketdesk_create_ticket",
        "approvalflow_create_delegation",
        "approvalflow_escalate_approval",
    )
    tools = (
        *TICKET_TOOLS,
        *RECORD_TOOLS,
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        "approvalflow_withdraw_approval",
        "approvalflow_cancel_approval",
        *distractors,
    )

    def draw(self, world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Transfer:
        """Add the two lines, and one that looks like the source line."""
        return add_lines(world, stream, kinds, must_refuse=must_refuse)

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

    def answers(self, world: WorldBuilder, facts: Transfer) -> Mapping[str, AcceptedValue]:
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

    def figures(self, facts: Transfer, stream: Stream, priority: Priority, *, in_force: bool) -> PolicyParameters:
        """Draw the limits of priorities, the reserve and the window; another version decides otherwise about both."""
        medium, high, critical = draw_priority_limits(stream, facts.amount_cents, priority, step=PRIORITY_STEP_CENTS)
        reserve, left = facts.reserve_cents, facts.left_cents
        if not in_force and facts.ground is RefusalGround.TOO_LITTLE:
            reserve = draw_round_amount(stream, 0, left)
        elif not in_force:
            reserve = left + draw_round_amount(stream, STEP_CENTS, 900_000)
        return {
            "medium_from_cents": medium,
            "high_from_cents": high,
            "critical_from_cents": critical,
            "reserve_cents": reserve,
            "window_days": stream.integer(*WINDOW_DAYS) if in_force else stream.choice([1, 14]),
        }

    def take_slot(self, world: WorldBuilder, stream: Stream) -> KeySlot:
        """Take a key of the last days, so that earlier requests have not expired."""
        world.ticket_slots[FINANCE] += recent_key_slots(world, stream, FINANCE, 2)
        return super().take_slot(world, stream)

    def complete(
        self,
        world: WorldBuilder,
        stream: Stream,
        facts: Transfer,
        policy: PolicyRow,
        slot: KeySlot,
        kinds: Collection[Kind],
    ) -> Transfer:
        """Add earlier requests, some of which are parts of the transfer."""
        window_days = policy.parameters["window_days"]
        return add_partial_requests(world, stream, facts, window_days=window_days, ordered_on=slot.created_at.date())

    def thresholds(self, facts: Transfer, stream: Stream, request: Request) -> Sequence[tuple[int | None, Role]]:
        """Let a finance controller decide up to the limit, and the CFO above."""
        return [(facts.limit_cents, Role.FINANCE_CONTROLLER), (None, Role.CFO)]

    def solution(self, facts: Transfer, policy: PolicyRow, ticket_key: str) -> Solution:
        """End the parts; then book the whole amount after its approval, or refuse."""
        giver, taker, amount = facts.giver, facts.taker, facts.amount_cents
        refs = policy_refs(policy)
        withdrawn = [RequestWithdrawn(one) for one in facts.own_parts]
        reason = Refusal(RefusalGround.MIXED.value, refs)
        parts = EntityGoals("parts_ended", [*withdrawn, *(RequestCancelled(one, reason) for one in facts.others_parts)])
        request = Request(
            type_key=TYPE_KEY,
            subject=ticket_key,
            role=facts.role,
            amount_cents=amount,
            fields=request_fields(from_line=giver.id, to_line=taker.id, amount_cents=amount),
        )
        booked = {giver.id: giver.fields["budget_cents"] - amount, taker.id: taker.fields["budget_cents"] + amount}
        outcome = Outcome(
            requests=(request,),
            prepared=(parts,) if parts.goals else (),
            goals=tuple(
                RecordGoal(record_id=line, fields={"budget_cents": budget}, do_fields_need_approval=True)
                for line, budget in booked.items()
            ),
            facts=tuple(map(record_shown, booked if facts.ground is RefusalGround.MIXED else [giver.id])),
            subjects=(giver.id, taker.id),
        )
        references = {
            RefusalGround.TOO_LITTLE: (giver.id,),
            RefusalGround.MIXED: refs,
            RefusalGround.NOT_THE_OWNER: (facts.reporter_id,),
        }
        return Solution(
            variant=facts.variant,
            outcome=outcome,
            refusal=Refusal(facts.ground.value, references[facts.ground]) if facts.ground else None,
            struck={Kind.SIMILAR_NAMES: (facts.lookalike or giver).id},
        )


SCENARIO = BudgetTransfer()
