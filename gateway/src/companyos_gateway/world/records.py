"""Records: contracts, licenses, orders and other things that an enterprise files."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_time, working_days_from
from companyos_gateway.world.pools import pool
from companyos_gateway.world.seed_documents.datahub import RecordRow, VendorRow
from companyos_gateway.world.text_templates import TextTemplate
from companyos_gateway.world.vendors import supplier_of
from companyos_shared.streams import Stream

CURRENCY = "EUR"
CENTS_STEP = 500
PREFIXES = {
    "contract": "CTR",
    "license": "LIC",
    "expense": "EXP",
    "purchase_order": "PO",
    "goods_receipt": "GR",
    "invoice": "INV",
    "budget_line": "BUD",
    "access_grant": "ACG",
    "customer": "CUS",
    "sales_order": "SO",
    "refund_claim": "RCL",
    "security_exception": "EXC",
    "position": "POS",
    "job_offer": "OFF",
    "proposal": "PRP",
    "document": "DOC",
}
FOLLOWS_ORDER = ("goods_receipt", "invoice")
RECORD_WORKING_DAYS = (5, 80)
"""Age range of records in working days."""

PAYMENT_DAYS = 30
_TERM_DAYS = 365


_CONTRACT_STARTS: dict[str | None, tuple[int, int]] = {None: (-300, -20), "expired": (-600, -370), "draft": (10, 60)}
"""Range of days from today to the start of a contract, by its state."""


def draw_records(world: WorldBuilder, stream: Stream) -> None:
    """Draw the records of a company: a contract for nearly every vendor, and some of every other kind."""
    own = stream.child("contracts")
    for vendor in world.datahub.vendors:
        if own.chance(0.85):
            draw_contract(world, own, vendor)
    for entry in pool("data")["record"]:
        kind_stream = stream.child(entry["kind"])
        for _ in range(entry["count"]):
            _draw_record(world, kind_stream, entry)


def draw_contract(
    world: WorldBuilder, stream: Stream, vendor: VendorRow, *, amount_cents: int | None = None, state: str | None = None
) -> RecordRow:
    """Add a contract with a vendor and return it."""
    entry = pool("data")["contract"]
    state = state or stream.choice(entry["states"])
    starts_on = world.today + timedelta(days=stream.integer(*_CONTRACT_STARTS.get(state, _CONTRACT_STARTS[None])))
    signed_on = starts_on - timedelta(days=stream.integer(3, 40))
    filed_on = working_days_from(signed_on, 1)
    if state == "draft":
        filed_on = working_days_from(world.today, -stream.integer(5, 20))
    title = TextTemplate(stream, world.slot_sources(), vendor=vendor.legal_name).fill(stream.choice(entry["titles"]))
    fields = {
        "contract_type": stream.choice(entry["types"]),
        "notice_days": stream.choice(entry["notice_days"]),
        "auto_renews": stream.chance(0.5),
    }
    if state != "draft":
        fields["signed_on"] = signed_on.isoformat()
    return _add_record(
        world,
        stream,
        kind="contract",
        title=title,
        state=state,
        vendor_id=vendor.id,
        amount_cents=amount_cents or rounded_amount(stream, *entry["amount"]),
        starts_on=starts_on,
        ends_on=starts_on + timedelta(days=_TERM_DAYS),
        fields=fields,
        filed_at=draw_office_time(stream, filed_on),
    )


def rounded_amount(stream: Stream, low: int, high: int) -> int:
    """Draw an amount in cents, as a multiple of CENTS_STEP."""
    return CENTS_STEP * stream.integer(-(-low // CENTS_STEP), high // CENTS_STEP)


def _draw_record(world: WorldBuilder, stream: Stream, entry: dict[str, Any]) -> None:
    """Add a record; goods receipts and invoices refer to an earlier order and have its vendor."""
    order = _pick_order(world, stream) if entry["kind"] in FOLLOWS_ORDER else None
    past = working_days_from(world.today, -stream.integer(*RECORD_WORKING_DAYS))
    if order is not None:
        past = min(working_days_from(order.created_at.date(), stream.integer(1, 9)), working_days_from(world.today, -1))
    filed_on = working_days_from(past, stream.integer(0, 3)) if entry["kind"] == "expense" else past
    filed_at = draw_office_time(stream, filed_on)
    slots = world.slot_sources()
    words = TextTemplate(
        stream,
        {**slots, "person_id": lambda own: own.choice(world.present(past)).id},
        date=(past + timedelta(days=PAYMENT_DAYS) if entry["kind"] == "invoice" else past).isoformat(),
        order=order.id if order else "",
    )
    title, state = words.fill(stream.choice(entry["titles"])), stream.choice(entry["states"])
    vendor_id = order.vendor_id if order else supplier_of(world, stream, title).id if entry["vendor"] else None
    low, high = entry["amount"]
    amount_cents = rounded_amount(stream, low, high) if high else None
    fields = {name: _field(stream, words, value) for name, value in entry["fields"].items()}
    if order is not None:
        fields["quantity"] = order.fields["quantity"]
        amount_cents = order.amount_cents if high else None
    is_over = state == "expired"
    _add_record(
        world,
        stream,
        kind=entry["kind"],
        title=title,
        state=state,
        vendor_id=vendor_id,
        amount_cents=amount_cents,
        starts_on=past,
        ends_on=world.today - timedelta(days=1) if is_over else past + timedelta(days=_TERM_DAYS),
        fields=fields,
        filed_at=filed_at,
    )


def _pick_order(world: WorldBuilder, stream: Stream) -> RecordRow:
    return stream.choice([record for record in world.datahub.records if record.kind == "purchase_order"])


def _field(stream: Stream, words: TextTemplate, value: Any) -> Any:
    if isinstance(value, list):
        return stream.integer(*value)
    return words.fill(value) if isinstance(value, str) else value


def _add_record(
    world: WorldBuilder,
    stream: Stream,
    *,
    kind: str,
    title: str,
    state: str,
    vendor_id: str | None,
    amount_cents: int | None,
    starts_on: date,
    ends_on: date,
    fields: dict[str, Any],
    filed_at: datetime,
) -> RecordRow:
    record = RecordRow(
        id=world.ids.take(PREFIXES[kind]),
        kind=kind,
        title=title,
        state=state,
        owner_id=stream.choice(world.present(filed_at.date())).id,
        vendor_id=vendor_id,
        amount_cents=amount_cents,
        currency=CURRENCY if amount_cents is not None else None,
        starts_on=starts_on,
        ends_on=ends_on,
        fields=fields,
        created_at=filed_at,
        updated_at=filed_at,
    )
    world.datahub.records.append(record)
    return record
