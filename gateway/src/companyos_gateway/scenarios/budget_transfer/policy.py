"""The transfer policy, its approval type, and approvers by amount."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.approvers import (
    ApproverChain,
    DecisionSpec,
    add_approver_chain,
    field_spec,
    leads_and_finance,
    replace_approval_type,
)
from companyos_gateway.scenarios.blocks.policy_versions import (
    PRIORITIES,
    PolicyParameters,
    add_policy_versions,
    draw_other_priority,
    draw_priority_limits,
)
from companyos_gateway.scenarios.budget_transfer.case import TYPE_KEY, RefusalGround
from companyos_gateway.scenarios.budget_transfer.documents import (
    STEP_CENTS,
    WINDOW_DAYS,
    Transfer,
    draw_round_amount,
    texts,
)
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.approvalflow import ApprovalTypeRow, ThresholdRow
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TOPIC = "transfers"
PRIORITY_STEP_CENTS = 50_000


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and what it asks of this transfer."""

    policy: PolicyRow
    priority: Priority
    window_days: int


def add_policy(world: WorldBuilder, stream: Stream, transfer: Transfer, kinds: Collection[Kind]) -> PolicyTerms:
    """Add the policy; earlier versions ask for another priority, another reserve and another window."""
    priority, window = stream.choice(PRIORITIES), stream.integer(*WINDOW_DAYS)
    is_short = transfer.ground is RefusalGround.TOO_LITTLE
    left = transfer.free_cents - transfer.amount_cents

    def superseded(own: Stream) -> PolicyParameters:
        reserve = draw_round_amount(own, 0, left) if is_short else left + draw_round_amount(own, STEP_CENTS, 900_000)
        days = own.choice([1, 14])
        return _figures(own, transfer, draw_other_priority(own, priority), reserve=reserve, window=days)

    policy = add_policy_versions(
        world,
        stream,
        titles=texts()["policy"]["titles"],
        topic=TOPIC,
        body=_body,
        in_force=_figures(stream, transfer, priority, reserve=transfer.reserve_cents, window=window),
        superseded=superseded,
        kinds=kinds,
    )
    return PolicyTerms(policy, priority, window)


def add_approval_type(world: WorldBuilder, transfer: Transfer, policy: PolicyRow) -> None:
    """Add the approval type, whose limit puts the whole before another role than its parts."""
    replace_approval_type(
        world,
        ApprovalTypeRow(
            key=TYPE_KEY,
            title="Budget transfer",
            description="Transfer of budget from one line to another. The subject is the ticket key.",
            policy_ref=policy.policy_id,
            fields=[
                field_spec("from_line", "text", "ID of the source line."),
                field_spec("to_line", "text", "ID of the target line."),
                field_spec("amount_cents", "integer", "Whole amount of the transfer, in cents."),
            ],
            amount_field="amount_cents",
            thresholds=[
                ThresholdRow(up_to_cents=transfer.limit_cents, role=Role.FINANCE_CONTROLLER.value),
                ThresholdRow(up_to_cents=None, role=Role.CFO.value),
            ],
            expires_after_minutes=EXPIRES_AFTER_MINUTES,
        ),
    )


def add_approvers(world: WorldBuilder, stream: Stream, transfer: Transfer, kinds: Collection[Kind]) -> ApproverChain:
    """Add who decides: a finance controller or the CFO."""
    decision_spec = DecisionSpec(
        type_key=TYPE_KEY,
        role=transfer.role,
        holder_ids=sorted(one.id for one in world.staff.holders(transfer.role)),
        amount_cents=transfer.amount_cents,
        deputy_candidates=leads_and_finance(world),
        other_types=["purchase_order", "contract_renewal"],
    )
    return add_approver_chain(world, stream, decision_spec, kinds)


def _body(_figures: Mapping[str, Any]) -> str:
    text: str = texts()["policy"]["body"]
    return text


def _figures(stream: Stream, transfer: Transfer, level: Priority, *, reserve: int, window: int) -> PolicyParameters:
    medium, high, critical = draw_priority_limits(stream, transfer.amount_cents, level, step=PRIORITY_STEP_CENTS)
    return {
        "medium_from_cents": medium,
        "high_from_cents": high,
        "critical_from_cents": critical,
        "reserve_cents": reserve,
        "window_days": window,
    }
