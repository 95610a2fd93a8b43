"""The documents of a purchase and its figures: ordered, received, billed and credited, with prices and tolerances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

from companyos_gateway.scenarios import kit

PRICES_CENTS = {
    kit.Role.PROCUREMENT_LEAD: (4_000, 10_000),
    kit.Role.FINANCE_CONTROLLER: (20_000, 60_000),
    kit.Role.CFO: (100_000, 300_000),
}
"""Unit prices by the role that decides about the invoice: multiples of a thousand, so that shares are exact."""

PRICE_STEP = 1_000
AVAILABLE, PRICE_TOLERANCES, QUANTITY_TOLERANCES = (40, 160), (2, 6), (5, 10)
OPEN_REST = (20, 60)
"""Range of the units of an open order that are still to be delivered: above any tolerance."""


class Variant(StrEnum):
    """Variant of the case: how the goods were delivered and invoiced."""

    WHOLE = "whole"
    PARTS = "parts"
    INSPECTED = "inspected"
    INSTALMENT = "instalment"
    CREDITED = "credited"


class RefusalGround(StrEnum):
    """Ground for not releasing an invoice; the first three are also hold reasons."""

    PRICE = "price"
    QUANTITY = "quantity"
    VENDOR = "vendor"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """Quantities in pieces and prices in cents."""

    role: kit.Role
    order_price: int
    invoice_price: int
    price_tolerance: int
    quantity_tolerance: int
    ordered: int
    invoiced_before: int
    available: int
    """Received units that were not invoiced before."""
    billed: int
    """Units to pay for, after the credit note."""
    credited: int

    @property
    def received(self) -> int:
        """All units that were or will be accepted."""
        return self.available + self.invoiced_before

    @property
    def invoiced(self) -> int:
        """The invoiced units, before the credit note."""
        return self.billed + self.credited

    @property
    def credited_cents(self) -> int:
        """The amount of the credit note in cents."""
        return self.credited * self.invoice_price

    @property
    def credit_fields(self) -> dict[str, int]:
        """The fields of the invoice that hold its credit note; empty if there is none."""
        return {"credited_quantity": self.credited, "credited_cents": self.credited_cents} if self.credited else {}

    @property
    def amount_cents(self) -> int:
        """The amount to pay in cents."""
        return self.billed * self.invoice_price

    @property
    def closes_order(self) -> bool:
        """Return whether the invoice completes the order."""
        return self.invoiced_before + self.billed >= self.ordered

    @property
    def permille_above(self) -> int:
        """The difference of the invoiced price from the ordered price, in thousandths of the latter."""
        return (self.invoice_price - self.order_price) * PRICE_STEP // self.order_price

    @property
    def pieces_above(self) -> int:
        """The number of billed units in excess of the available ones."""
        return self.billed - self.available


def draw_amounts(stream: kit.Stream, variant: Variant, ground: RefusalGround | None) -> Amounts:
    """Draw figures that agree within the tolerances, except for the ground for refusal."""
    role = stream.choice(list(PRICES_CENTS))
    low, high = PRICES_CENTS[role]
    price = PRICE_STEP * stream.integer(low // PRICE_STEP, high // PRICE_STEP)
    price_tolerance, quantity_tolerance = stream.integer(*PRICE_TOLERANCES), stream.choice(QUANTITY_TOLERANCES)
    available = stream.integer(*AVAILABLE)
    before = stream.integer(20, 80) if variant is Variant.INSTALMENT else 0
    allowed = available * quantity_tolerance // 100
    above = _pieces_above(stream, variant, ground, allowed)
    credited = stream.integer(allowed + 3, allowed + 24)
    received = available + before
    rest = 0 if stream.chance(0.5) else stream.integer(*OPEN_REST)
    permille = _permille_above(stream, ground, price_tolerance * 10)
    return Amounts(
        role=role,
        order_price=price,
        invoice_price=price // PRICE_STEP * (PRICE_STEP + permille),
        price_tolerance=price_tolerance,
        quantity_tolerance=quantity_tolerance,
        ordered=received + (above if ground is RefusalGround.QUANTITY else rest),
        invoiced_before=before,
        available=available,
        billed=available + above,
        credited=credited if variant is Variant.CREDITED else 0,
    )


def _pieces_above(stream: kit.Stream, variant: Variant, ground: RefusalGround | None, allowed: int) -> int:
    how = stream.weighted([("even", 5), ("above", 3), ("below", 2)])
    above, below, over = stream.integer(1, allowed), stream.integer(1, 10), stream.integer(3, 20)
    if ground is RefusalGround.QUANTITY:
        return allowed + over
    if how == "below":
        return -below
    return above if how == "above" and variant is not Variant.CREDITED else 0


def _permille_above(stream: kit.Stream, ground: RefusalGround | None, allowed: int) -> int:
    how = stream.weighted([("even", 4), ("above", 4), ("below", 2)])
    above, below, over = stream.integer(1, allowed), stream.integer(1, 40), stream.integer(3, 80)
    if ground is RefusalGround.PRICE:
        return allowed + over
    return {"even": 0, "above": above, "below": -below}[how]


REJECTED_SHARE, VOID_SHARE = 0.4, 0.3
"""Probabilities of a returned delivery, whose receipt does not count, and of a rejected invoice."""

ORDER_DAYS, EARLIER_RECEIPT_DAYS, EARLIER_INVOICE_DAYS = (45, 60), (30, 40), (14, 25)
RECEIPT_DAYS, INVOICE_DAYS = (9, 13), (3, 8)
"""Ranges of working days from the filing of a record to the ticket; receipts precede the invoices that bill them."""

OPEN_RECEIPT_DAYS = (1, 2)
"""The same range for a receipt that is still being inspected."""


@dataclass(frozen=True, kw_only=True)
class Purchase:
    """A purchase with its documents."""

    variant: Variant
    ground: RefusalGround | None
    amounts: Amounts
    ticket_on: date
    """The day of the ticket, before which the purchase is filed."""
    item: str
    vendor: kit.VendorRow
    """The vendor of the order."""
    sender: kit.VendorRow
    """The vendor that has sent the invoice."""
    order: kit.RecordRow
    invoice: kit.RecordRow
    receipts: tuple[kit.RecordRow, ...] = ()
    """The receipts that count: accepted ones, and those that will be."""
    paid_id: str | None = None
    """The paid invoice on the same order, if there is one: an earlier one, or in a duplicate the same."""

    @property
    def number(self) -> str:
        """The vendor's number of the invoice."""
        return str(self.invoice.fields["invoice_number"])


def add_purchase(build: kit.BuildContext) -> Purchase:
    """Add the order, receipts and invoice, and similar records."""
    world, stream = build.world, build.stream
    ground = build.draw_ground(RefusalGround)
    variant = stream.choice(list(Variant))
    if ground is not None and variant in (Variant.INSPECTED, Variant.CREDITED):
        variant = Variant.PARTS
    if ground is RefusalGround.DUPLICATE:
        variant = Variant.WHOLE
    amounts = draw_amounts(stream.child("amounts"), variant, ground)
    item = stream.choice(kit.load_texts(__file__)["items"])
    vendor = kit.draw_vendor(world, stream, status="active", goods=item)
    kit.draw_certificates(world, stream, vendor, expired=kit.Kind.EXPIRED_CERTIFICATE in build.kinds)
    sender = kit.draw_namesake(world, stream, vendor) if ground is RefusalGround.VENDOR else vendor
    ticket_on = world.ticket_slots[kit.FINANCE][-2].created_at.date()
    order = _order(build, vendor, amounts, item, day=_draw_day(stream, ticket_on, ORDER_DAYS))
    invoice = _invoice(build, sender, order, amounts=amounts, item=item, day=_draw_day(stream, ticket_on, INVOICE_DAYS))
    purchase = Purchase(
        variant=variant,
        ground=ground,
        amounts=amounts,
        ticket_on=ticket_on,
        item=item,
        vendor=vendor,
        sender=sender,
        order=order,
        invoice=invoice,
    )
    receipts = _add_receipts(build.child("receipts"), purchase)
    paid = _add_other_invoices(build.child("invoices"), purchase)
    if variant is Variant.CREDITED:
        _file_credit(build, purchase)
    if kit.Kind.SIMILAR_NAMES in build.kinds:
        _add_namesake(build.child("namesake"), purchase)
    return replace(purchase, receipts=receipts, paid_id=paid.id if paid else None)


def _draw_day(stream: kit.Stream, ticket_on: date, days: tuple[int, int]) -> date:
    """Draw a day within a range of working days before the ticket."""
    return kit.working_days_from(ticket_on, -stream.integer(*days))


def _order(build: kit.BuildContext, vendor: kit.VendorRow, amounts: Amounts, item: str, *, day: date) -> kit.RecordRow:
    world, stream = build.world, build.stream
    return build.file_record(
        "purchase_order",
        title=f"Purchase order: {item}",
        state="received",
        day=day,
        vendor_id=vendor.id,
        fields={
            "item": item,
            "quantity": amounts.ordered,
            "unit_price_cents": amounts.order_price,
            "cost_center": f"CC-{stream.integer(100, 480)}",
            "requester_id": stream.choice(world.staff.active()).id,
        },
        amount_cents=amounts.ordered * amounts.order_price,
        starts_on=day,
    )


def _invoice(
    build: kit.BuildContext, sender: kit.VendorRow, order: kit.RecordRow, *, amounts: Amounts, item: str, day: date
) -> kit.RecordRow:
    quantity, price = amounts.invoiced, amounts.invoice_price
    fields = {
        "invoice_number": f"R{build.stream.integer(10_000, 99_999)}",
        "purchase_order_id": order.id,
        "quantity": quantity,
        "unit_price_cents": price,
        "credited_quantity": 0,
        "credited_cents": 0,
        "due_on": kit.working_days_from(day, build.stream.integer(20, 30)).isoformat(),
    }
    return build.file_record(
        "invoice",
        title=f"Invoice: {item}",
        state="received",
        day=day,
        vendor_id=sender.id,
        fields=fields,
        amount_cents=quantity * price,
        starts_on=day,
    )


def _add_receipts(build: kit.BuildContext, purchase: Purchase) -> tuple[kit.RecordRow, ...]:
    """Add the receipts that count, and a rejected one if goods were sent back; return those that count."""
    stream = build.stream
    receipts: list[kit.RecordRow] = []
    amounts, variant = purchase.amounts, purchase.variant
    parts = [amounts.received]
    if variant is Variant.INSTALMENT:
        parts = [amounts.invoiced_before, amounts.available]
    elif variant is Variant.PARTS or (variant is Variant.INSPECTED and stream.chance(0.5)):
        first = stream.integer(amounts.received // 3, amounts.received * 2 // 3)
        parts = [first, amounts.received - first]
    is_paid = variant is Variant.INSTALMENT or purchase.ground is RefusalGround.DUPLICATE
    for place, quantity in enumerate(parts, start=1):
        state, days = "accepted", RECEIPT_DAYS
        if variant is Variant.INSPECTED and place == len(parts):
            state, days = "recorded", OPEN_RECEIPT_DAYS
        elif is_paid and place == 1:
            days = EARLIER_RECEIPT_DAYS
        receipts.append(_receipt(build, purchase, quantity, state, days))
    if purchase.ground is RefusalGround.QUANTITY or stream.chance(REJECTED_SHARE):
        short = amounts.billed - amounts.available
        quantity = short if purchase.ground is RefusalGround.QUANTITY else stream.integer(3, 30)
        _receipt(build, purchase, quantity, "rejected", RECEIPT_DAYS)
    return tuple(receipts)


def _receipt(
    build: kit.BuildContext, purchase: Purchase, quantity: int, state: str, days: tuple[int, int]
) -> kit.RecordRow:
    """Add a goods receipt; its owner is the colleague who receives goods."""
    world, stream = build.world, build.stream
    day = _draw_day(stream, purchase.ticket_on, days)
    fields = {"purchase_order_id": purchase.order.id, "quantity": quantity, "received_on": day.isoformat()}
    title, vendor_id = f"Goods receipt: {purchase.item}", purchase.vendor.id
    receipt = build.file_record("goods_receipt", title=title, state=state, day=day, vendor_id=vendor_id, fields=fields)
    receipt.owner_id = stream.choice(world.staff.active("workplace")).id
    return receipt


def _add_other_invoices(build: kit.BuildContext, purchase: Purchase) -> kit.RecordRow | None:
    """Add other invoices on the order, such as earlier or rejected ones; return the paid one, if there is one."""
    amounts, paid = purchase.amounts, None
    if purchase.variant is Variant.INSTALMENT:
        paid = _similar_invoice(build, purchase, state="paid", quantity=amounts.invoiced_before)
    if purchase.ground is RefusalGround.DUPLICATE:
        number = purchase.number
        paid = _similar_invoice(build, purchase, state="paid", quantity=amounts.billed, number=number)
    if build.stream.chance(VOID_SHARE):
        _similar_invoice(build, purchase, state="rejected", quantity=amounts.billed + build.stream.integer(1, 9))
    return paid


def _similar_invoice(
    build: kit.BuildContext, purchase: Purchase, *, state: str, quantity: int, number: str | None = None
) -> kit.RecordRow:
    """Add an invoice on the same order in another state."""
    stream, price = build.stream, int(purchase.invoice.fields["unit_price_cents"])
    number = number or f"R{stream.integer(10_000, 99_999)}"
    day = _draw_day(stream, purchase.ticket_on, EARLIER_INVOICE_DAYS)
    due_on = kit.working_days_from(day, stream.integer(20, 30))
    return build.copy_record(
        purchase.invoice,
        {"invoice_number": number, "quantity": quantity, "due_on": due_on.isoformat()},
        state=state,
        amount_cents=quantity * price,
        starts_on=day,
        created_at=kit.draw_office_time(stream, day),
        version=3,
    )


def _file_credit(build: kit.BuildContext, purchase: Purchase) -> None:
    """File the credit note of the purchase."""
    stream = build.stream
    amounts = purchase.amounts
    title = stream.choice(kit.load_texts(__file__)["credits"]).format(number=purchase.number)
    day = build.working_day_ago(1, 2)
    fields = {
        "invoice_id": purchase.invoice.id,
        "quantity": amounts.credited,
        "total_cents": amounts.credited_cents,
    }
    build.file_document("credit_note", title, day=day, fields=fields, vendor_id=purchase.sender.id)


def _add_namesake(build: kit.BuildContext, purchase: Purchase) -> None:
    """Add an invoice with the same number and title from a vendor with a similar name."""
    world, stream = build.world, build.stream
    other = kit.draw_namesake(world, stream, purchase.vendor)
    kit.draw_certificates(world, stream, other)
    words, supplied = kit.load_texts(__file__), kit.categories_of(purchase.item)
    items = [item for item in words["items"] if kit.categories_of(item) == supplied]
    day = purchase.order.created_at.date()
    order = _order(build, other, purchase.amounts, stream.choice(items), day=day)
    quantity = stream.integer(5, 30)
    build.copy_record(
        purchase.invoice,
        {"purchase_order_id": order.id, "quantity": quantity},
        vendor_id=other.id,
        amount_cents=quantity * purchase.amounts.invoice_price,
    )
