"""The onboarding policy: its words, its figures, and the priority that follows from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import MetricSpec
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
    add_policy_versions,
    draw_other_priority,
    draw_priority_limits,
    priority_of_amount,
)
from companyos_gateway.scenarios.vendor_onboarding.case import METRIC_KEY, TYPE_KEY
from companyos_gateway.scenarios.vendor_onboarding.documents import OnboardingDocuments, texts
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import ApprovalTypeRow, FieldSpecRow, ThresholdRow
from companyos_gateway.world.seed_documents.datahub import PolicyRow, RiskTier
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TOPIC = "vendors"
BARS = (66, 84)
RAISED_TIERS: tuple[RiskTier, ...] = ("high", "medium")


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and what it asks of this onboarding."""

    policy: PolicyRow
    priority: Priority
    minimum_score: int
    raises: bool
    """Whether the priority is raised for vendors of a risk tier."""


def add_policy(
    world: WorldBuilder, stream: Stream, documents: OnboardingDocuments, kinds: Collection[Kind]
) -> PolicyTerms:
    """Add the policy and return its version in force with the priority that it asks for.

    A superseded policy has earlier versions, and each of them asks for another priority.
    """
    amount_cents = documents.amount_cents
    raised_tier = stream.choice(RAISED_TIERS) if stream.chance(0.5) else None
    figures = _figures(stream, amount_cents, stream.choice(PRIORITIES), raised_tier)
    priority = priority_for(figures, amount_cents=amount_cents, risk_tier=documents.vendor.risk_tier)
    policy = add_policy_versions(
        world,
        stream,
        titles=texts()["policy"]["titles"],
        topic=TOPIC,
        body=_body,
        in_force=figures,
        superseded=lambda own: _figures(own, amount_cents, draw_other_priority(own, priority), None),
        kinds=kinds,
    )
    return PolicyTerms(policy, priority, figures["minimum_compliance_score"], raises=raised_tier is not None)


def priority_for(figures: Mapping[str, Any], *, amount_cents: int, risk_tier: RiskTier) -> Priority:
    """Return the priority that the figures of a version ask for."""
    limits = (figures["medium_from_cents"], figures["high_from_cents"], figures["critical_from_cents"])
    return priority_of_amount(amount_cents, limits, raised=figures.get("raised_risk_tier") == risk_tier)


def _figures(stream: Stream, amount_cents: int, level: Priority, raised_tier: RiskTier | None) -> dict[str, Any]:
    """Draw figures under which the amount by itself is of the given level."""
    medium, high, critical = draw_priority_limits(stream, amount_cents, level)
    figures: dict[str, Any] = {
        "minimum_compliance_score": stream.integer(*BARS),
        "medium_from_cents": medium,
        "high_from_cents": high,
        "critical_from_cents": critical,
    }
    if raised_tier is not None:
        figures["raised_risk_tier"] = raised_tier
    return figures


def _body(figures: Mapping[str, Any]) -> str:
    words = texts()["policy"]
    body: str = words["body"].replace("RAISE", words["raise"] if "raised_risk_tier" in figures else "")
    return body


CONTROLLER_LIMIT_CENTS = (2_000_000, 6_000_000)
"""Up to here a finance controller decides; every onboarding lies above."""


def add_approval_type(world: WorldBuilder, stream: Stream, policy: PolicyRow, score: MetricSpec) -> bool:
    """Add the approval type; whether it wants the vendor's risk tier is drawn and returned."""
    has_risk_tier = stream.chance(0.5)
    specs = [
        field_spec("vendor_id", "text", "Vendor ID, the same as the subject."),
        field_spec("contract_id", "text", "ID of the contract record."),
        field_spec("amount_cents", "integer", "Amount of the contract, in cents."),
        field_spec(METRIC_KEY, "number", "Compliance score in points from the authoritative source."),
        FieldSpecRow(
            name="score_as_of",
            type="datetime",
            required=True,
            description="Timestamp (`as_of`) of the compliance score.",
            max_age_minutes=int(score.max_age.total_seconds()) // 60,
        ),
    ]
    if has_risk_tier:
        specs.insert(2, field_spec("risk_tier", "text", "Risk tier on the vendor record."))
    controller_limit = rounded_amount(stream, *CONTROLLER_LIMIT_CENTS)
    replace_approval_type(
        world,
        ApprovalTypeRow(
            key=TYPE_KEY,
            title="Vendor onboarding",
            description="Onboarding of a new vendor. The subject is the vendor ID.",
            policy_ref=policy.policy_id,
            fields=specs,
            amount_field="amount_cents",
            thresholds=[
                ThresholdRow(up_to_cents=controller_limit, role=Role.FINANCE_CONTROLLER.value),
                ThresholdRow(up_to_cents=None, role=Role.CFO.value),
            ],
            expires_after_minutes=EXPIRES_AFTER_MINUTES,
        ),
    )
    return has_risk_tier


def add_cfo(
    world: WorldBuilder, stream: Stream, documents: OnboardingDocuments, kinds: Collection[Kind]
) -> ApproverChain:
    """Add who stands in for the CFO."""
    decision_spec = DecisionSpec(
        type_key=TYPE_KEY,
        role=Role.CFO,
        holder_ids=[world.staff.holders(Role.CFO)[0].id],
        amount_cents=documents.amount_cents,
        deputy_candidates=leads_and_finance(world),
        other_types=["purchase_order", "contract_renewal"],
    )
    return add_approver_chain(world, stream, decision_spec, kinds)
