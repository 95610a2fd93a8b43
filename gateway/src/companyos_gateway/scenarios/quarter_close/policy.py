"""The closing policy, its approval type, and approvers by total."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

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
from companyos_gateway.scenarios.quarter_close.case import METRIC_KEY, TYPE_KEY
from companyos_gateway.scenarios.quarter_close.documents import SLA_MINUTES, ClosingDocuments, texts
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import ApprovalTypeRow, FieldSpecRow, ThresholdRow
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TOPIC = "closing"
STEPS_CENTS = {Role.FINANCE_CONTROLLER: 20_000, Role.CFO: 400_000}
"""The limits of priorities are multiples of these, by the role that decides."""

CONTROLLER_LIMIT_CENTS = (3_700_000, 4_400_000)
"""Up to here a finance controller decides; what the CFO decides about comes to more."""


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and the priority that it asks for."""

    policy: PolicyRow
    priority: Priority


def add_policy(
    world: WorldBuilder, stream: Stream, documents: ClosingDocuments, kinds: Collection[Kind]
) -> PolicyTerms:
    """Add the policy; earlier versions ask for another priority and tolerate more."""
    priority = stream.choice(PRIORITIES)
    words = texts()["policy"]
    body = words["body"].replace("DOCUMENTS", words[documents.variant.value])
    policy = add_policy_versions(
        world,
        stream,
        titles=words["titles"],
        topic=TOPIC,
        body=lambda _figures: str(body),
        in_force=_figures(stream, documents, priority, documents.tolerance),
        superseded=lambda own: _figures(
            own, documents, draw_other_priority(own, priority), documents.tolerance + own.integer(5, 9)
        ),
        kinds=kinds,
    )
    return PolicyTerms(policy, priority)


def add_approval_type(world: WorldBuilder, stream: Stream, policy: PolicyRow) -> None:
    """Add the approval type."""
    replace_approval_type(
        world,
        ApprovalTypeRow(
            key=TYPE_KEY,
            title="Quarter close",
            description="Quarter close of a cost center. The subject is the ID of its budget line.",
            policy_ref=policy.policy_id,
            fields=[
                field_spec("budget_line_id", "text", "ID of the budget line."),
                field_spec("invoices_cents", "integer", "Sum of the invoices approved in this close, in cents."),
                field_spec("invoices_held", "integer", "Number of invoices put on hold in this close."),
                field_spec(METRIC_KEY, "number", "Budget used in EUR, from the authoritative source."),
                FieldSpecRow(
                    name="measured_at",
                    type="datetime",
                    required=True,
                    description="Timestamp (`as_of`) of the budget used.",
                    max_age_minutes=SLA_MINUTES,
                ),
            ],
            amount_field="invoices_cents",
            thresholds=[
                ThresholdRow(
                    up_to_cents=rounded_amount(stream, *CONTROLLER_LIMIT_CENTS), role=Role.FINANCE_CONTROLLER.value
                ),
                ThresholdRow(up_to_cents=None, role=Role.CFO.value),
            ],
            expires_after_minutes=EXPIRES_AFTER_MINUTES,
        ),
    )


def add_approvers(
    world: WorldBuilder, stream: Stream, documents: ClosingDocuments, kinds: Collection[Kind]
) -> ApproverChain:
    """Add who decides: a finance controller or the CFO."""
    decision_spec = DecisionSpec(
        type_key=TYPE_KEY,
        role=documents.role,
        holder_ids=sorted(one.id for one in world.staff.holders(documents.role)),
        amount_cents=documents.approved_cents,
        deputy_candidates=leads_and_finance(world),
        other_types=["purchase_order", "contract_renewal"],
    )
    return add_approver_chain(world, stream, decision_spec, kinds)


def _figures(stream: Stream, documents: ClosingDocuments, level: Priority, tolerance: int) -> PolicyParameters:
    medium, high, critical = draw_priority_limits(
        stream, documents.approved_cents, level, step=STEPS_CENTS[documents.role]
    )
    return {
        "tolerance_percent": tolerance,
        "expense_limit_cents": documents.expense_limit,
        "medium_from_cents": medium,
        "high_from_cents": high,
        "critical_from_cents": critical,
    }
