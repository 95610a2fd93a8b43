"""The renewal policy, its approval type, and approvers by cost."""

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
    PolicyParameters,
    add_policy_versions,
    draw_other_priority,
    draw_priority_limits,
)
from companyos_gateway.scenarios.license_renewal.case import METRIC_KEY, TYPE_KEY, RefusalGround
from companyos_gateway.scenarios.license_renewal.documents import DAYS_LEFT, LONGEST_DAYS, Licence, texts
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import ApprovalTypeRow, FieldSpecRow, ThresholdRow
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TOPIC = "renewals"
STEPS_CENTS = {Role.PROCUREMENT_LEAD: 20_000, Role.CFO: 200_000}
"""The limits of priorities are multiples of these, by the role that decides."""

LEAD_LIMIT_CENTS = (3_700_000, 4_200_000)
"""Up to here the procurement lead decides; lower where the renewal that the CFO decides about costs less."""


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and what it asks of this renewal."""

    policy: PolicyRow
    priority: Priority
    window_days: int


def add_policy(world: WorldBuilder, stream: Stream, licence: Licence, kinds: Collection[Kind]) -> PolicyTerms:
    """Add the policy; earlier versions ask for another priority and another window."""
    priority, is_early = stream.choice(PRIORITIES), licence.ground is RefusalGround.TOO_EARLY
    words = texts()["policy"]

    def body(figures: Mapping[str, Any]) -> str:
        seats = words["used_seats"] if licence.variant.is_resized else words["all_seats"]
        capped = words["capped"] if "longest_term_days" in figures else ""
        text: str = words["body"]
        return text.replace("SEATS", seats).replace("CAPPED", capped)

    in_force = _figures(stream, licence, priority, is_early=is_early)
    policy = add_policy_versions(
        world,
        stream,
        titles=words["titles"],
        topic=TOPIC,
        body=body,
        in_force=in_force,
        superseded=lambda own: _figures(own, licence, draw_other_priority(own, priority), is_early=not is_early),
        kinds=kinds,
    )
    return PolicyTerms(policy, priority, in_force["window_days"])


def add_approval_type(
    world: WorldBuilder, stream: Stream, licence: Licence, *, policy: PolicyRow, days_left: MetricSpec
) -> None:
    """Add the approval type; what the CFO decides about lies above the lead's limit, little as it may cost."""
    lead_limit = rounded_amount(stream, *LEAD_LIMIT_CENTS)
    if licence.role is Role.CFO:
        lead_limit = min(lead_limit, licence.amount_cents - 500)
    replace_approval_type(
        world,
        ApprovalTypeRow(
            key=TYPE_KEY,
            title="Licence renewal",
            description="Renewal of a software licence for a new term. The subject is the ID of the licence record.",
            policy_ref=policy.policy_id,
            fields=[
                field_spec("licence_id", "text", "ID of the licence record."),
                field_spec("seats", "integer", "Number of seats to renew."),
                field_spec("amount_cents", "integer", "Cost of the renewal, in cents."),
                field_spec("new_end", "date", "Last day of the renewed licence."),
                field_spec(METRIC_KEY, "number", "Days left on the licence, from the authoritative source."),
                FieldSpecRow(
                    name="days_left_as_of",
                    type="datetime",
                    required=True,
                    description="Timestamp (`as_of`) of the days left.",
                    max_age_minutes=int(days_left.max_age.total_seconds()) // 60,
                ),
            ],
            amount_field="amount_cents",
            thresholds=[
                ThresholdRow(up_to_cents=lead_limit, role=Role.PROCUREMENT_LEAD.value),
                ThresholdRow(up_to_cents=None, role=Role.CFO.value),
            ],
            expires_after_minutes=EXPIRES_AFTER_MINUTES,
        ),
    )


def add_approvers(world: WorldBuilder, stream: Stream, licence: Licence, kinds: Collection[Kind]) -> ApproverChain:
    """Add who decides: the procurement lead or the CFO."""
    decision_spec = DecisionSpec(
        type_key=TYPE_KEY,
        role=licence.role,
        holder_ids=[world.staff.holders(licence.role)[0].id],
        amount_cents=licence.amount_cents,
        deputy_candidates=leads_and_finance(world),
        other_types=["purchase_order", "contract_renewal"],
    )
    return add_approver_chain(world, stream, decision_spec, kinds)


def _figures(stream: Stream, licence: Licence, level: Priority, *, is_early: bool) -> PolicyParameters:
    step = STEPS_CENTS[licence.role]
    medium, high, critical = draw_priority_limits(stream, licence.amount_cents, level, step=step)
    left, longest = licence.left, LONGEST_DAYS - 20
    if is_early:
        window = min(stream.integer(DAYS_LEFT[0] - 12, left - 1), longest)
    else:
        window = stream.integer(left, max(left, longest))
    figures = {
        "window_days": window,
        "medium_from_cents": medium,
        "high_from_cents": high,
        "critical_from_cents": critical,
    }
    if licence.longest_term_days is not None:
        figures["longest_term_days"] = licence.longest_term_days
    return figures
