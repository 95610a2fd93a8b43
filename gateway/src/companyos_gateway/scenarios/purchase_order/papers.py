"""The papers of a purchase: order, receipts and invoice, what was billed and credited, and what looks like it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.parts.filing import file_record
from companyos_gateway.scenarios.parts.words import words_beside
from companyos_gateway.scenarios.purchase_order.amounts import Amounts, draw_amounts
from companyos_gateway.scenarios.purchase_order.case import Ground, Shape
from companyos_gateway.world.calendar import office_moment, working_days_from
from companyos_gateway.world.documents.datahub import HubHappening, RecordRow, VendorRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.records import PREFIXES
from companyos_gateway.world.vendors import draw_certificates, draw_namesake, draw_vendor
from companyos_shared.streams import Stream

INSPECTION_MINUTES = (120, 960)
"""Office minutes until a recorded receipt is accepted."""

REJECTED_SHARE = 0.4
"""How often a delivery was sent back, so that its receipt does not count."""

VOID_SHARE = 0.3
"""How often an invoice on the order was rejected before."""


@dataclass(kw_only=True)
class Papers:
    """What was filed about one purchase."""

    shape: Shape
    ground: Ground | None
    amounts: Amounts
    item: str
    vendor: VendorRow
    """Who has the order."""
    sender: VendorRow
    """Who has sent the invoice."""
    order: RecordRow
    invoice: RecordRow
    receipts: list[RecordRow] = field(default_factory=list)
    paid_twin: RecordRow | None = None

    @property
    def number(self) -> str:
        """The vendor's number of the invoice."""
        return str(self.invoice.fields["invoice_number"])


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return words_beside(__file__)


def add_papers(world: World, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Papers:
    """Add order, receipts and invoice, and what looks like them."""
    ground = stream.choice(list(Ground)) if must_refuse else None
    shape = stream.choice(list(Shape))
    if ground is not None and shape in (Shape.INSPECTED, Shape.CREDITED):
        shape = Shape.PARTS
    if ground is Ground.DUPLICATE:
        shape = Shape.WHOLE
    amounts = draw_amounts(stream.child("amounts"), shape, ground)
    vendor = draw_vendor(world, stream, status="active")
    draw_certificates(world, stream, vendor, expired=Kind.EXPIRED_CERTIFICATE in kinds)
    sender = draw_namesake(world, stream, vendor) if ground is Ground.VENDOR else vendor
    item = stream.choice(texts()["items"])
    order = _order(world, stream, vendor, amounts, item)
    invoice = _invoice(world, stream, sender, order, item=item, quantity=amounts.invoiced, price=amounts.invoice_price)
    papers = Papers(
        shape=shape,
        ground=ground,
        amounts=amounts,
        item=item,
        vendor=vendor,
        sender=sender,
        order=order,
        invoice=invoice,
    )
    _add_receipts(world, stream.child("receipts"), papers)
    _add_other_invoices(world, stream.child("invoices"), papers)
    if shape is Shape.CREDITED:
        _file_credit(world, stream, papers)
    if Kind.SIMILAR_NAMES in kinds:
        _add_namesake(world, stream.child("namesake"), papers)
    return papers


def plan_inspection(world: World, stream: Stream, papers: Papers) -> None:
    """Let a colleague accept what is recorded only."""
    due_at = world.company().add_office_minutes(world.started_at, stream.integer(*INSPECTION_MINUTES))
    for receipt in papers.receipts:
        if receipt.state == "recorded":
            data = {"record_id": receipt.id, "state": "accepted"}
            world.hub.happenings.append(HubHappening(due_at=due_at, kind="record", data=data))


def _order(world: World, stream: Stream, vendor: VendorRow, amounts: Amounts, item: str) -> RecordRow:
    fields = {
        "item": item,
        "quantity": amounts.ordered,
        "unit_price_cents": amounts.order_price,
        "cost_center": f"CC-{stream.integer(100, 480)}",
        "requester_id": stream.choice(world.staff.active()).id,
    }
    amount_cents = amounts.ordered * amounts.order_price
    day = working_days_from(world.today, -stream.integer(40, 60))
    return file_record(
        world,
        stream,
        "purchase_order",
        title=f"Order: {item}",
        state="received",
        day=day,
        vendor_id=vendor.id,
        fields=fields,
        amount_cents=amount_cents,
        starts_on=day,
    )


def _invoice(
    world: World, stream: Stream, sender: VendorRow, order: RecordRow, *, item: str, quantity: int, price: int
) -> RecordRow:
    day = working_days_from(world.today, -stream.integer(3, 8))
    fields = {
        "invoice_number": f"R{stream.integer(10_000, 99_999)}",
        "purchase_order_id": order.id,
        "quantity": quantity,
        "unit_price_cents": price,
        "credited_quantity": 0,
        "credited_cents": 0,
        "due_on": working_days_from(world.today, stream.integer(20, 30)).isoformat(),
    }
    return file_record(
        world,
        stream,
        "invoice",
        title=f"Invoice: {item}",
        state="received",
        day=day,
        vendor_id=sender.id,
        fields=fields,
        amount_cents=quantity * price,
        starts_on=day,
    )


def _add_receipts(world: World, stream: Stream, papers: Papers) -> None:
    """Add the receipts that count, and one that does not where goods were sent back."""
    amounts, shape = papers.amounts, papers.shape
    parts = [amounts.received]
    if shape is Shape.INSTALMENT:
        parts = [amounts.invoiced_before, amounts.available]
    elif shape is Shape.PARTS or (shape is Shape.INSPECTED and stream.chance(0.5)):
        first = stream.integer(amounts.received // 3, amounts.received * 2 // 3)
        parts = [first, amounts.received - first]
    for place, quantity in enumerate(parts, start=1):
        is_open = shape is Shape.INSPECTED and place == len(parts)
        papers.receipts.append(_receipt(world, stream, papers, quantity, "recorded" if is_open else "accepted"))
    if papers.ground is Ground.QUANTITY or stream.chance(REJECTED_SHARE):
        short = amounts.billed - amounts.available
        quantity = short if papers.ground is Ground.QUANTITY else stream.integer(3, 30)
        _receipt(world, stream, papers, quantity, "rejected")


def _receipt(world: World, stream: Stream, papers: Papers, quantity: int, state: str) -> RecordRow:
    day = working_days_from(world.today, -stream.integer(9, 30))
    fields = {"purchase_order_id": papers.order.id, "quantity": quantity, "received_on": day.isoformat()}
    title, vendor_id = f"Receipt: {papers.item}", papers.vendor.id
    return file_record(
        world, stream, "goods_receipt", title=title, state=state, day=day, vendor_id=vendor_id, fields=fields
    )


def _add_other_invoices(world: World, stream: Stream, papers: Papers) -> None:
    """Add what was billed before on the order, the same invoice paid already, or one that was turned down."""
    amounts = papers.amounts
    if papers.shape is Shape.INSTALMENT:
        _like(world, stream, papers, state="paid", quantity=amounts.invoiced_before)
    if papers.ground is Ground.DUPLICATE:
        papers.paid_twin = _like(world, stream, papers, state="paid", quantity=amounts.billed, number=papers.number)
    if stream.chance(VOID_SHARE):
        _like(world, stream, papers, state="rejected", quantity=amounts.billed + stream.integer(1, 9))


def _like(
    world: World, stream: Stream, papers: Papers, *, state: str, quantity: int, number: str | None = None
) -> RecordRow:
    """Add an invoice on the same order in another state."""
    price: int = papers.invoice.fields["unit_price_cents"]
    fields = {
        **papers.invoice.fields,
        "invoice_number": number or f"R{stream.integer(10_000, 99_999)}",
        "quantity": quantity,
    }
    day = working_days_from(world.today, -stream.integer(12, 25))
    other = replace(
        papers.invoice,
        id=world.ids.take(PREFIXES["invoice"]),
        state=state,
        amount_cents=quantity * price,
        starts_on=day,
        fields=fields,
        created_at=office_moment(stream, day),
        version=3,
    )
    world.hub.records.append(other)
    return other


def _file_credit(world: World, stream: Stream, papers: Papers) -> None:
    """File the credit note among the documents."""
    amounts = papers.amounts
    title = stream.choice(texts()["credits"]).format(number=papers.number)
    day = working_days_from(world.today, -stream.integer(1, 2))
    fields = {
        "document_type": "credit_note",
        "invoice_id": papers.invoice.id,
        "quantity": amounts.credited,
        "total_cents": amounts.credited_cents,
    }
    vendor_id = papers.sender.id
    file_record(world, stream, "document", title=title, state="published", day=day, vendor_id=vendor_id, fields=fields)


def _add_namesake(world: World, stream: Stream, papers: Papers) -> None:
    """Add an invoice of the same number and title that a vendor of nearly the same name has sent."""
    other = draw_namesake(world, stream, papers.vendor)
    draw_certificates(world, stream, other)
    orders = [one for one in world.hub.records if one.kind == "purchase_order" and one.id != papers.order.id]
    quantity = stream.integer(5, 30)
    fields = {**papers.invoice.fields, "purchase_order_id": stream.choice(orders).id, "quantity": quantity}
    twin = replace(
        papers.invoice,
        id=world.ids.take(PREFIXES["invoice"]),
        vendor_id=other.id,
        amount_cents=quantity * papers.amounts.invoice_price,
        fields=fields,
    )
    world.hub.records.append(twin)
