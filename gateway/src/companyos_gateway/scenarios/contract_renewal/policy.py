"""The renewal policy, its two approval types and their approvers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import MetricSpec
from companyos_gateway.scenarios.blocks.approval_stages import add_approval_stage, add_two_stage_approvers
from companyos_gateway.scenarios.blocks.approvers import ApproverChain, field_spec
from companyos_gateway.scenarios.blocks.policy_versions import (
    PRIORITIES,
    PolicyParameters,
    add_policy_versions,
    draw_other_priority,
    draw_priority_limits,
)
from companyos_gateway.scenarios.contract_renewal.case import LEGAL_TYPE, METRIC_KEY, TYPE_KEY
from companyos_gateway.scenarios.contract_renewal.documents import (
    LONGEST_YEARS,
    Contract,
    RiskThresholds,
    draw_other_thresholds,
    texts,
)
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.pools import pool
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import FieldSpecRow, ThresholdRow
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TOPIC = "renewals"
STEPS_CENTS = {Role.FINANCE_CONTROLLER: 20_000, Role.CFO: 200_000}
"""The limits of priorities are multiples of these, by the role that decides."""


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and the priority that it asks for."""

    policy: PolicyRow
    priority: Priority


def add_policy(world: WorldBuilder, stream: Stream, contract: Contract, kinds: Collection[Kind]) -> PolicyTerms:
    """Add the policy; earlier versions ask for another priority, another certificate and draw other tiers."""
    priority, kind = stream.choice(PRIORITIES), contract.certified.paper.kind
    others = [one for one in pool("vendors")["wording"]["certificates"] if one != kind]
    policy = add_policy_versions(
        world,
        stream,
        titles=texts()["policy"]["titles"],
        topic=TOPIC,
        body=lambda _figures: str(texts()["policy"]["body"]),
        in_force=_figures(stream, contract, priority, contract.risk.bars, kind),
        superseded=lambda own: _figures(
            own,
            contract,
            draw_other_priority(own, priority),
            draw_other_thresholds(own, contract.risk),
            own.choice(others),
        ),
        kinds=kinds,
    )
    return PolicyTerms(policy, priority)


def add_approval_types(
    world: WorldBuilder, stream: Stream, contract: Contract, policy: PolicyRow, risk: MetricSpec
) -> None:
    """Add both approval types; the limit of the second lies between a term that is capped and one that is not."""
    amount, full = contract.amount_cents, contract.full_cents
    below = rounded_amount(stream, amount // 2, amount - 500)
    above = rounded_amount(stream, amount, full - 500 if full > amount else amount * 2)
    timestamp_field = FieldSpecRow(
        name="risk_as_of",
        type="datetime",
        required=True,
        description="Timestamp (`as_of`) of the risk index.",
        max_age_minutes=int(risk.max_age.total_seconds()) // 60,
    )
    add_approval_stage(
        world,
        policy,
        key=LEGAL_TYPE,
        title="Contract: legal review",
        description="Legal confirms that the contract may be renewed. The subject is the contract ID.",
        fields=[
            field_spec("contract_id", "text", "ID of the contract."),
            field_spec("certificate_until", "date", "Expiry date of the certificate that the policy requires."),
            field_spec(METRIC_KEY, "number", "Risk index of the vendor from the authoritative source."),
            timestamp_field,
            field_spec("risk_tier", "text", "Risk tier of the vendor by the policy in force."),
        ],
        thresholds=[ThresholdRow(up_to_cents=None, role=Role.LEGAL_COUNSEL.value)],
    )
    add_approval_stage(
        world,
        policy,
        key=TYPE_KEY,
        title="Contract: finance approval",
        description="Finance approves the cost of the new contract term. The subject is the contract ID.",
        fields=[
            field_spec("contract_id", "text", "ID of the contract."),
            field_spec("amount_cents", "integer", "Cost of the whole new term, in cents."),
            field_spec("new_end", "date", "Last day of the new term."),
            field_spec("legal_ref", "text", "Request ID of the approved legal review."),
        ],
        thresholds=[
            ThresholdRow(up_to_cents=below if contract.role is Role.CFO else above, role=Role.FINANCE_CONTROLLER.value),
            ThresholdRow(up_to_cents=None, role=Role.CFO.value),
        ],
        amount_field="amount_cents",
    )


def add_approvers(
    world: WorldBuilder, stream: Stream, contract: Contract, kinds: Collection[Kind]
) -> tuple[str, ApproverChain]:
    """Add who reviews, who pays, and somebody who could stand in for both; return the first two."""
    first, last = (LEGAL_TYPE, Role.LEGAL_COUNSEL), (TYPE_KEY, contract.role)
    return add_two_stage_approvers(
        world, stream, first=first, last=last, amount_cents=contract.amount_cents, kinds=kinds
    )


def _figures(stream: Stream, contract: Contract, level: Priority, bars: RiskThresholds, kind: str) -> PolicyParameters:
    medium, high, critical = draw_priority_limits(stream, contract.amount_cents, level, step=STEPS_CENTS[contract.role])
    longest: Mapping[str, Any] = {f"longest_years_{tier}": years for tier, years in LONGEST_YEARS.items()}
    return {
        "medium_from_cents": medium,
        "high_from_cents": high,
        "critical_from_cents": critical,
        "certificate": kind,
        "medium_risk_from": bars.medium_from,
        "high_risk_from": bars.high_from,
        "highest_risk": bars.highest,
        **longest,
    }
