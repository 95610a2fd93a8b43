"""Records: contracts, licences, orders and the rest of what an enterprise files."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_time, working_days_from
from companyos_gateway.world.pools import pool
from companyos_gateway.world.seed_documents.datahub import RecordRow, VendorRow
from companyos_gateway.world.text_templates import TextTemplate
from companyos_shared.streams import Stream

CURRENCY = "EUR"
CENTS_STEP = 500
PREFIXES = {
    "contract": "CTR",
    "licence": "LIC",
    "expense": "EXP",
    "purchase_order": "PO",
    "goods_receipt": "GR",
    "invoice": "INV",
    "budget_line": "BUD",
    "access_grant": "ACG",
    "document": "DOC",
}
_TERM_DAYS = 365


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
    starts_on = world.today + timedelta(days=stream.integer(-300, -20))
    title = TextTemplate(stream, world.slot_sources(), vendor=vendor.legal_name).fill(stream.choice(entry["titles"]))
    fields = {
        "contract_type": stream.choice(entry["types"]),
        "notice_days": stream.choice(entry["notice_days"]),
        "auto_renews": stream.chance(0.5),
        "signed_on": (starts_on - timedelta(days=stream.integer(3, 40))).isoformat(),
    }
    record = _record(
        world,
        stream,
        kind="contract",
        title=title,
        state=state or stream.choice(entry["states"]),
        vendor_id=vendor.id,
        amount_cents=amount_cents or rounded_amount(stream, *entry["amount"]),
        starts_on=starts_on,
        ends_on=starts_on + timedelta(days=_TERM_DAYS),
        fields=fields,
    )
    world.datahub.records.append(record)
    return record


def rounded_amount(stream: Stream, low: int, high: int) -> int:
    """Draw an amount in cents that looks like one."""
    return CENTS_STEP * stream.integer(-(-low // CENTS_STEP), high // CENTS_STEP)


def _draw_record(world: WorldBuilder, stream: Stream, entry: dict[str, Any]) -> None:
    orders = [record.id for record in world.datahub.records if record.kind == "purchase_order"]
    past = world.today - timedelta(days=stream.integer(4, 200))
    words = TextTemplate(
        stream,
        {**world.slot_sources(), "person_id": lambda own: own.choice(world.staff.active()).id},
        date=past.isoformat(),
        order=stream.choice(orders) if orders else "",
    )
    low, high = entry["amount"]
    world.datahub.records.append(
        _record(
            world,
            stream,
            kind=entry["kind"],
            title=words.fill(stream.choice(entry["titles"])),
            state=stream.choice(entry["states"]),
            vendor_id=stream.choice(world.datahub.vendors).id if entry["vendor"] else None,
            amount_cents=rounded_amount(stream, low, high) if high else None,
            starts_on=past,
            ends_on=past + timedelta(days=_TERM_DAYS),
            fields={name: _field(stream, words, value) for name, value in entry["fields"].items()},
        )
    )


def _field(stream: Stream, words: TextTemplate, value: Any) -> Any:
    if isinstance(value, list):
        return stream.integer(*value)
    return words.fill(value) if isinstance(value, str) else value


def _record(
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
) -> RecordRow:
    filed_at = draw_office_time(stream, working_days_from(world.today, -stream.integer(2, 60)))
    return RecordRow(
        id=world.ids.take(PREFIXES[kind]),
        kind=kind,
        title=title,
        state=state,
        owner_id=stream.choice(world.staff.active()).id,
        vendor_id=vendor_id,
        amount_cents=amount_cents,
        currency=CURRENCY if amount_cents is not None else None,
        starts_on=starts_on,
        ends_on=ends_on,
        fields=fields,
        created_at=filed_at,
        updated_at=filed_at,
    )
