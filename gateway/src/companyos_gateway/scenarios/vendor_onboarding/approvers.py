"""Who decides about an onboarding: the approval type, and the CFO with those who stand in."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.chaos import Kind
from companyos_gateway.rubrics.cases import Reading
from companyos_gateway.scenarios.parts.deciders import (
    Chain,
    Deciding,
    add_chain,
    field_spec,
    leads_and_finance,
    put_type,
)
from companyos_gateway.scenarios.vendor_onboarding.case import METRIC_KEY, TYPE_KEY
from companyos_gateway.scenarios.vendor_onboarding.papers import Papers
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES
from companyos_gateway.world.documents.approvalflow import ApprovalTypeRow, FieldSpecRow, ThresholdRow
from companyos_gateway.world.documents.datahub import PolicyRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.records import rounded_amount
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

CONTROLLER_LIMIT_CENTS = (2_000_000, 6_000_000)
"""Up to here a finance controller decides; every onboarding lies above."""


def add_approval_type(world: World, stream: Stream, policy: PolicyRow, score: Reading) -> bool:
    """Add the approval type; whether it wants the vendor's risk tier is drawn and returned."""
    has_risk_tier = stream.chance(0.5)
    specs = [
        field_spec("vendor_id", "text", "Id of the vendor; also the subject."),
        field_spec("contract_id", "text", "Id of the contract record."),
        field_spec("amount_cents", "integer", "Amount of the contract in cents."),
        field_spec(METRIC_KEY, "number", "Score in points, by the authoritative source."),
        FieldSpecRow(
            name="score_as_of",
            type="datetime",
            required=True,
            description="When the score was true.",
            max_age_minutes=int(score.max_age.total_seconds()) // 60,
        ),
    ]
    if has_risk_tier:
        specs.insert(2, field_spec("risk_tier", "text", "Risk tier of the vendor."))
    controller_limit = rounded_amount(stream, *CONTROLLER_LIMIT_CENTS)
    put_type(
        world,
        ApprovalTypeRow(
            key=TYPE_KEY,
            title="Vendor onboarding",
            description="A new vendor is taken on. The subject is the vendor's id.",
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


def add_cfo(world: World, stream: Stream, papers: Papers, kinds: Collection[Kind]) -> Chain:
    """Add who stands in for the CFO."""
    deciding = Deciding(
        type_key=TYPE_KEY,
        role=Role.CFO,
        holder_ids=[world.staff.holders(Role.CFO)[0].id],
        amount_cents=papers.amount_cents,
        bench=leads_and_finance(world),
        other_types=["purchase_order", "contract_renewal"],
    )
    return add_chain(world, stream, deciding, kinds)
