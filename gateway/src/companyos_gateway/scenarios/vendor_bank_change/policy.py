"""The bank details policy, its two approval types and their approvers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.approval_stages import add_approval_stage, add_two_stage_approvers
from companyos_gateway.scenarios.blocks.approvers import ApproverChain, field_spec
from companyos_gateway.scenarios.blocks.policy_versions import (
    PRIORITIES,
    PolicyParameters,
    add_policy_versions,
    draw_other_priority,
    draw_priority_limits,
)
from companyos_gateway.scenarios.vendor_bank_change.case import CHECK_TYPE, TYPE_KEY, RefusalGround, Variant
from companyos_gateway.scenarios.vendor_bank_change.documents import Letter, texts
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import ThresholdRow
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TOPIC = "payments"
STEPS_CENTS = {Role.FINANCE_CONTROLLER: 10_000, Role.CFO: 200_000}
"""The limits of priorities are multiples of these, by the role that decides."""

QUIET_DAYS = (52, 64)
SHORT_QUIET_DAYS = (5, 15)
"""Days that must lie between two changes: more, or fewer, than before a change that is too soon."""

WAITING_DAYS = {True: (6, 9), False: (2, 5)}
"""Days from the receipt of a letter to the change, by whether they are still running."""


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and what it asks of this change."""

    policy: PolicyRow
    priority: Priority
    not_before: date


def add_policy(world: WorldBuilder, stream: Stream, letter: Letter, kinds: Collection[Kind]) -> PolicyTerms:
    """Add the policy; earlier versions ask for another priority, another patience and another quiet time."""
    priority = stream.choice(PRIORITIES)
    in_force = _figures(stream, letter, priority, is_superseded=False)
    policy = add_policy_versions(
        world,
        stream,
        titles=texts()["policy"]["titles"],
        topic=TOPIC,
        body=lambda _figures: str(texts()["policy"]["body"]),
        in_force=in_force,
        superseded=lambda own: _figures(own, letter, draw_other_priority(own, priority), is_superseded=True),
        kinds=kinds,
    )
    not_before = letter.received_on + timedelta(days=in_force["waiting_days"])
    return PolicyTerms(policy, priority, not_before)


def add_approval_types(world: WorldBuilder, stream: Stream, letter: Letter, policy: PolicyRow) -> None:
    """Add both approval types; the limit of the second lies just below what all open invoices come to."""
    whole = letter.open_amount_cents
    smallest = min(invoice.amount_cents or 0 for invoice in letter.invoices)
    above, below = rounded_amount(stream, whole, whole * 2), rounded_amount(stream, whole - smallest, whole - 500)
    common = [
        field_spec("vendor_id", "text", "Vendor ID, the same as the subject."),
        field_spec("new_iban", "text", "New account (IBAN) in the change request."),
    ]
    add_approval_stage(
        world,
        policy,
        key=CHECK_TYPE,
        title="Bank details: check",
        description="Confirms that a vendor's new bank details are genuine. The subject is the vendor ID.",
        fields=[
            *common,
            field_spec("request_id", "text", "Document ID of the change request."),
            field_spec(
                "proof_id",
                "text",
                "ID of what verifies the account: the call note or the earlier change of bank details.",
            ),
        ],
        thresholds=[ThresholdRow(up_to_cents=None, role=Role.PROCUREMENT_LEAD.value)],
    )
    limit = below if letter.role is Role.CFO else above
    add_approval_stage(
        world,
        policy,
        key=TYPE_KEY,
        title="Bank details: release",
        description="Releases a vendor's new bank details for entry. The subject is the vendor ID.",
        fields=[
            *common,
            field_spec("open_amount_cents", "integer", "Sum of the vendor's open invoices, in cents."),
            field_spec("check_ref", "text", "Request ID of the approved check."),
        ],
        thresholds=[
            ThresholdRow(up_to_cents=limit, role=Role.FINANCE_CONTROLLER.value),
            ThresholdRow(up_to_cents=None, role=Role.CFO.value),
        ],
        amount_field="open_amount_cents",
    )


def add_approvers(
    world: WorldBuilder, stream: Stream, letter: Letter, kinds: Collection[Kind]
) -> tuple[str, ApproverChain]:
    """Add who checks, who releases, and somebody who could stand in for both; return the first two."""
    first, last = (CHECK_TYPE, Role.PROCUREMENT_LEAD), (TYPE_KEY, letter.role)
    return add_two_stage_approvers(
        world, stream, first=first, last=last, amount_cents=letter.open_amount_cents, kinds=kinds
    )


def _figures(stream: Stream, letter: Letter, level: Priority, *, is_superseded: bool) -> PolicyParameters:
    amount = letter.open_amount_cents
    medium, high, critical = draw_priority_limits(stream, amount, level, step=STEPS_CENTS[letter.role])
    is_long = (letter.variant is Variant.COOLING) is not is_superseded
    is_quiet = (letter.ground is RefusalGround.TOO_SOON) is not is_superseded
    quiet_days = stream.integer(*QUIET_DAYS)
    if is_superseded and letter.ground is RefusalGround.TOO_SOON:
        quiet_days = stream.integer(*SHORT_QUIET_DAYS)
    elif is_superseded and is_quiet and letter.last_change_days is not None:
        quiet_days = letter.last_change_days + stream.integer(5, 40)
    figures: dict[str, Any] = {
        "medium_from_cents": medium,
        "high_from_cents": high,
        "critical_from_cents": critical,
        "quiet_days": quiet_days,
        "waiting_days": stream.integer(*WAITING_DAYS[is_long]),
    }
    return figures
