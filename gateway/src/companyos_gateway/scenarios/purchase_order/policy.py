"""The purchasing policy, its approval type, and approvers by amount."""

from __future__ import annotations

from collections.abc import Collection
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
from companyos_gateway.scenarios.purchase_order.case import TYPE_KEY
from companyos_gateway.scenarios.purchase_order.documents import Amounts, PurchaseDocuments, texts
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import ApprovalTypeRow, ThresholdRow
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TOPIC = "purchasing"
STEPS_CENTS = {Role.PROCUREMENT_LEAD: 10_000, Role.FINANCE_CONTROLLER: 50_000, Role.CFO: 200_000}
"""The limits of priorities are multiples of these, by the role that decides."""


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and the priority that it asks for."""

    policy: PolicyRow
    priority: Priority


def add_policy(
    world: WorldBuilder, stream: Stream, documents: PurchaseDocuments, kinds: Collection[Kind]
) -> PolicyTerms:
    """Add the policy; earlier versions ask for another priority and draw the tolerances on the other side."""
    priority, amounts = stream.choice(PRIORITIES), documents.amounts
    in_force = _figures(stream, amounts, priority, price=amounts.price_tolerance, quantity=amounts.quantity_tolerance)

    def superseded(own: Stream) -> PolicyParameters:
        price = _opposite_tolerance(own, amounts.permille_above / 10, amounts.price_tolerance)
        share = 100 * amounts.pieces_above / amounts.available
        quantity = _opposite_tolerance(own, share, amounts.quantity_tolerance)
        return _figures(own, amounts, draw_other_priority(own, priority), price=price, quantity=quantity)

    policy = add_policy_versions(
        world,
        stream,
        titles=texts()["policy"]["titles"],
        topic=TOPIC,
        body=lambda _figures: str(texts()["policy"]["body"]),
        in_force=in_force,
        superseded=superseded,
        kinds=kinds,
    )
    return PolicyTerms(policy, priority)


def add_approval_type(world: WorldBuilder, stream: Stream, documents: PurchaseDocuments, policy: PolicyRow) -> None:
    """Add the approval type, whose limits put the amount to be paid before the deciding role."""
    lead_limit, controller_limit = _limits(stream, documents.amounts)
    replace_approval_type(
        world,
        ApprovalTypeRow(
            key=TYPE_KEY,
            title="Invoice release",
            description="Release of an invoice on a purchase order for payment. The subject is the invoice ID.",
            policy_ref=policy.policy_id,
            fields=[
                field_spec("invoice_id", "text", "ID of the invoice."),
                field_spec("order_id", "text", "ID of its purchase order."),
                field_spec("amount_cents", "integer", "Payable amount, in cents."),
                field_spec("received_quantity", "integer", "Quantity received and accepted on the order so far."),
                field_spec("invoiced_before", "integer", "Quantity on the order's other approved or paid invoices."),
                field_spec(
                    "price_difference_cents",
                    "integer",
                    "Unit price of the invoice less that of the order, in cents.",
                ),
            ],
            amount_field="amount_cents",
            thresholds=[
                ThresholdRow(up_to_cents=lead_limit, role=Role.PROCUREMENT_LEAD.value),
                ThresholdRow(up_to_cents=controller_limit, role=Role.FINANCE_CONTROLLER.value),
                ThresholdRow(up_to_cents=None, role=Role.CFO.value),
            ],
            expires_after_minutes=EXPIRES_AFTER_MINUTES,
        ),
    )


def add_approvers(
    world: WorldBuilder, stream: Stream, documents: PurchaseDocuments, kinds: Collection[Kind]
) -> ApproverChain:
    """Add who decides: the procurement lead, a finance controller or the CFO."""
    role = documents.amounts.role
    decision_spec = DecisionSpec(
        type_key=TYPE_KEY,
        role=role,
        holder_ids=sorted(one.id for one in world.staff.holders(role)),
        amount_cents=documents.amounts.amount_cents,
        deputy_candidates=leads_and_finance(world),
        other_types=["purchase_order", "contract_renewal"],
    )
    return add_approver_chain(world, stream, decision_spec, kinds)


def _limits(stream: Stream, amounts: Amounts) -> tuple[int, int]:
    """Draw up to where the procurement lead and a controller decide; what is credited lies above the limit."""
    paid, credited = amounts.amount_cents, amounts.credited_cents
    above = rounded_amount(stream, paid, paid + credited - 500 if credited else paid * 2)
    under = rounded_amount(stream, paid // 2, paid - 500)
    if amounts.role is Role.PROCUREMENT_LEAD:
        return above, above * stream.integer(3, 6)
    if amounts.role is Role.FINANCE_CONTROLLER:
        return under, above
    return max(500, under // stream.integer(4, 8) // 500 * 500), under


def _opposite_tolerance(stream: Stream, found: float, tolerance: int) -> int:
    """Draw a tolerance in percent that judges what was found otherwise, where one does."""
    if found > tolerance:
        return int(found) + stream.integer(1, 6)
    return stream.integer(0, max(0, -(-int(found * 10) // 10) - 1)) if found > 0 else stream.integer(1, 12)


def _figures(stream: Stream, amounts: Amounts, level: Priority, *, price: int, quantity: int) -> PolicyParameters:
    medium, high, critical = draw_priority_limits(stream, amounts.amount_cents, level, step=STEPS_CENTS[amounts.role])
    figures: dict[str, Any] = {
        "medium_from_cents": medium,
        "high_from_cents": high,
        "critical_from_cents": critical,
        "price_tolerance_percent": price,
        "quantity_tolerance_percent": quantity,
    }
    return figures
