"""Invoices on purchase orders: released if order, receipts and invoice agree within the tolerances, else stopped."""

from __future__ import annotations

from collections.abc import Mapping

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.purchase_order.documents import Purchase, RefusalGround, Variant, add_purchase

TYPE_KEY = "invoice_release"
LEAD, CONTROLLER, CFO = kit.Role.PROCUREMENT_LEAD, kit.Role.FINANCE_CONTROLLER, kit.Role.CFO
STEPS_CENTS = {LEAD: 10_000, CONTROLLER: 50_000, CFO: 200_000}
"""Steps of the limits of priorities in cents, by the role that decides."""


class PurchaseOrder(kit.DeclaredScenario[Purchase]):
    """Pay a vendor invoice: match order, receipts and invoice, then get approval, put it on hold, or reject it."""

    name, team, topic, max_steps = "purchase_order", kit.FINANCE, "purchasing", 130
    tags, duplicate_tags, precise_citation = ("invoices",), ("invoices", "payables"), "vendor"
    held_out = frozenset({Variant.CREDITED.value})
    always = (kit.Kind.MISSING_PRIORITY,)
    opt_in_kinds = frozenset()
    applicable = kit.buildable_kinds(exclude=kit.METRIC_KINDS)
    distractors = (*kit.USUAL_DISTRACTORS, "datahub_update_vendor", "datahub_query_metric")
    tools = (*kit.USUAL_TOOLS, "datahub_get_vendor")

    def draw(self, build: kit.BuildContext) -> Purchase:
        """Add the documents of the purchase."""
        return add_purchase(build)

    def slots(self, facts: Purchase) -> Mapping[str, str]:
        """Return the invoice with its order and a receipt, and its sender."""
        invoice, sender = facts.invoice, facts.sender
        named = {"invoice": invoice.id, "number": facts.number, "item": facts.item}
        named |= {"order": facts.order.id, "receipt": facts.receipts[0].id}
        return named | {"vendor": sender.name, "vendor_id": sender.id}

    def answers(self, build: kit.BuildContext, facts: Purchase) -> Mapping[str, kit.AcceptedValue]:
        """Return the number of the invoice, the price of the order and the certificate that expires first."""
        price, vendor_id = facts.amounts.order_price, facts.vendor.id
        certificates = [row for row in build.world.datahub.certificates if row.vendor_id == vendor_id]
        return {
            "number": facts.number,
            "unit_price_cents": price,
            "unit_price": f"{price / 100:.2f}",
            "certificate": min(certificates, key=lambda row: row.expires_on).kind,
        }

    def figures(self, facts: Purchase, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities and the tolerances; those of another version lead to another decision."""
        amounts = facts.amounts
        price, quantity = amounts.price_tolerance, amounts.quantity_tolerance
        if not in_force:
            price = _opposite_tolerance(stream, amounts.permille_above / 10, price)
            quantity = _opposite_tolerance(stream, 100 * amounts.pieces_above / amounts.available, quantity)
        return {
            **kit.priority_limits(stream, amounts.amount_cents, priority, step=STEPS_CENTS[amounts.role]),
            "price_tolerance_percent": price,
            "quantity_tolerance_percent": quantity,
        }

    def thresholds(self, facts: Purchase, stream: kit.Stream, request: kit.Request) -> kit.Thresholds:
        """Draw limits by which the role decides about the payable amount; without credit, a higher role may decide."""
        paid, credited = facts.amounts.amount_cents, facts.amounts.credited_cents
        above = kit.rounded_amount(stream, paid, paid + credited - 500 if credited else paid * 2)
        under = kit.rounded_amount(stream, paid // 2, paid - 500)
        lead_limit, controller_limit = {
            LEAD: (above, above * stream.integer(3, 6)),
            CONTROLLER: (under, above),
            CFO: (max(500, under // stream.integer(4, 8) // 500 * 500), under),
        }[facts.amounts.role]
        return [(lead_limit, LEAD), (controller_limit, CONTROLLER), (None, CFO)]

    def solution(self, facts: Purchase, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Release the payable amount once it is known, or stop the invoice."""
        amounts, ground, invoice, order = facts.amounts, facts.ground, facts.invoice.id, facts.order.id
        receipts, credit = tuple(receipt.id for receipt in facts.receipts), amounts.credit_fields
        request = kit.Request(
            type_key=TYPE_KEY,
            subject=invoice,
            role=amounts.role,
            amount_cents=amounts.amount_cents,
            fields=kit.request_fields(
                invoice_id=invoice,
                order_id=order,
                amount_cents=kit.AfterRecordUpdate(amounts.amount_cents, invoice, credit)
                if credit
                else amounts.amount_cents,
                received_quantity=kit.RecordSum(receipts, "quantity", "accepted"),
                invoiced_before=amounts.invoiced_before,
                price_difference_cents=amounts.invoice_price - amounts.order_price,
            ),
        )
        released = kit.RecordGoal(record_id=invoice, state="approved", fields=credit, may_set_fields_early=True)
        closed = [kit.RecordGoal(record_id=order, state="closed")] if amounts.closes_order else []
        stopped = kit.RecordGoal(
            record_id=invoice, state="on_hold", fields={"hold_reason": ground.value if ground else ""}
        )
        if ground is RefusalGround.DUPLICATE:
            stopped = kit.RecordGoal(record_id=invoice, state="rejected")
        outcome = kit.Outcome(
            requests=(request,),
            goals=(released, *closed),
            act=kit.RecordStopped(stopped) if ground else None,
            facts=_facts_against(facts),
            subjects=(invoice, order),
        )
        affected = {kit.Kind.EXPIRED_CERTIFICATE: facts.vendor.id}
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=_refusal(facts), affected=affected)

    def add_events(self, build: kit.BuildContext, facts: Purchase, ticket: kit.TaskTicket) -> None:
        """Add a comment that announces an inspection, and schedule the acceptance of the receipt."""
        if facts.variant is Variant.INSPECTED:
            kit.schedule_inspection(build, facts.receipts[-1], ticket.ticket, self.texts()["inspections"])


def _facts_against(facts: Purchase) -> tuple[kit.Fact, ...]:
    """Return the facts on which a refusal is based."""
    invoice, order = facts.invoice.id, facts.order.id
    match facts.ground:
        case RefusalGround.VENDOR:
            return kit.record_shown(invoice, "vendor_id"), kit.record_shown(order, "vendor_id")
        case RefusalGround.DUPLICATE:
            assert facts.paid_id is not None
            return kit.record_shown(invoice), kit.record_found(facts.paid_id, facts.number)
        case RefusalGround.QUANTITY:
            others = [receipt.id for receipt in facts.receipts] + ([facts.paid_id] if facts.paid_id else [])
            return tuple(map(kit.record_shown, (invoice, order, *others)))
    return kit.record_shown(invoice), kit.record_shown(order)


def _opposite_tolerance(stream: kit.Stream, found: float, tolerance: int) -> int:
    """Draw a tolerance in percent that leads to the opposite decision about a deviation, if there is one."""
    if found > tolerance:
        return int(found) + stream.integer(1, 6)
    return stream.integer(0, max(0, -(-int(found * 10) // 10) - 1)) if found > 0 else stream.integer(1, 12)


def _refusal(facts: Purchase) -> kit.Refusal | None:
    match facts.ground:
        case None:
            return None
        case RefusalGround.DUPLICATE:
            assert facts.paid_id is not None
            return kit.Refusal("duplicate", (facts.paid_id,))
        case RefusalGround.VENDOR:
            return kit.Refusal("policy_violation", (facts.sender.id,))
    return kit.Refusal("requirement_not_met", (facts.order.id,))


SCENARIO = PurchaseOrder()
