"""The report itself: who has paid what, with which papers, and what else was filed that looks like it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.scenarios.expense_report.case import RefusalGround, Variant
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_time, working_days_from
from companyos_gateway.world.records import CURRENCY, rounded_amount
from companyos_gateway.world.seed_documents.datahub import DataHubEvent, RecordRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Person, Role

AMOUNTS = {
    Role.TEAM_LEAD: (24_000, 80_000),
    Role.FINANCE_CONTROLLER: (120_000, 400_000),
    Role.CFO: (600_000, 1_800_000),
}
"""Amounts in cents by the role that will decide about them."""

UNLIMITED = ("travel", "training", "equipment")
UNITS = {"lodging": "nights", "meal": "attendees"}
UNIT_COUNTS = {Role.TEAM_LEAD: (2, 5), Role.FINANCE_CONTROLLER: (10, 30)}
"""Nights or attendees by the role that will decide: a CFO decides about no expense that has a limit for each."""

PERSONAL = ("fine", "minibar", "gift", "clothing", "phone_cover")
RECEIPT_COMES_MINUTES = (120, 960)
"""Office minutes until the employee files the receipt."""

RECEIPT_COMES_DAYS = timedelta(days=5)
"""Days within which those office minutes lie."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report as it was filed."""

    owner: Person
    records: tuple[RecordRow, ...]
    papers: Variant
    ground: RefusalGround | None
    role: Role
    units: int
    receipt_total_cents: int
    purpose: str
    paid_twin_id: str | None

    @property
    def amount_cents(self) -> int:
        """The amount of the whole report."""
        return sum(record.amount_cents or 0 for record in self.records)

    @property
    def category(self) -> str:
        """The category of the expense."""
        return str(self.records[0].fields["category"])


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return load_texts(__file__)


def add_report(world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Report:
    """Add the records of a report, its receipt where that lies elsewhere, and what looks like it."""
    people = world.present(world.today, world.today + RECEIPT_COMES_DAYS)
    owner = stream.choice([one for one in people if not one.roles and one.id != world.agent_id])
    ground = stream.choice(list(RefusalGround)) if must_refuse else None
    papers = stream.choice(list(Variant))
    if ground is not None and papers is not Variant.FOUND:
        papers = Variant.WHOLE
    category = _category(stream, papers, ground)
    role = _role(stream, papers, category)
    units = stream.integer(*UNIT_COUNTS[role]) if category in UNITS else 0
    amount_cents = rounded_amount(stream, *AMOUNTS[role])
    spent_on = working_days_from(world.today, -stream.integer(6, 30))
    purpose = stream.choice(texts()["purposes"])
    title = f"{purpose}, {spent_on.day} {spent_on:%B}"
    fields = _fields(stream, category, units, spent_on, purpose)
    first = _record(world, stream, owner, title, amount_cents, fields, spent_on)
    records = [first]
    total = amount_cents
    if papers is Variant.SPLIT:
        records.append(_split(world, stream, first, owner, title))
    elif papers is not Variant.PER_DIEM:
        first.fields |= {"receipt_attached": True, "receipt_total_cents": total}
    if papers in (Variant.FOUND, Variant.COMES):
        first.fields |= {"receipt_attached": False, "receipt_total_cents": 0}
    if papers is Variant.FOUND:
        _file_receipt(world, stream, first, total)
    world.datahub.records.extend(records)
    paid = _add_paid(world, stream, first, is_same=ground is RefusalGround.DUPLICATE)
    if Kind.SIMILAR_NAMES in kinds:
        _add_namesake(world, stream, first)
    return Report(
        owner=owner,
        records=tuple(records),
        papers=papers,
        ground=ground,
        role=role,
        units=units,
        receipt_total_cents=records[0].amount_cents or 0,
        purpose=purpose,
        paid_twin_id=paid.id if ground is RefusalGround.DUPLICATE else None,
    )


def schedule_receipt(world: WorldBuilder, stream: Stream, report: Report) -> datetime | None:
    """Let the employee file a receipt that is still to come; return when."""
    if report.papers is not Variant.COMES:
        return None
    due_at = world.company().add_office_minutes(world.started_at, stream.integer(*RECEIPT_COMES_MINUTES))
    filed = {"receipt_attached": True, "receipt_total_cents": report.receipt_total_cents}
    data = {"record_id": report.records[0].id, "fields": filed}
    world.datahub.scheduled_events.append(DataHubEvent(due_at=due_at, kind="record", data=data))
    return due_at


def _category(stream: Stream, papers: Variant, ground: RefusalGround | None) -> str:
    limited, unlimited, personal = (stream.choice(names) for names in (tuple(UNITS), UNLIMITED, PERSONAL))
    if ground is RefusalGround.PERSONAL:
        return personal
    if ground is RefusalGround.OVER_LIMIT:
        return limited
    if papers is Variant.PER_DIEM:
        return "per_diem"
    return unlimited if papers is Variant.SPLIT or stream.chance(0.4) else limited


def _role(stream: Stream, papers: Variant, category: str) -> Role:
    """Draw the role that will decide, among those whose amounts are plausible for the category."""
    if category == "per_diem" or category in PERSONAL:
        return Role.TEAM_LEAD
    if category in UNITS:
        return stream.choice(list(UNIT_COUNTS))
    return stream.choice([role for role in AMOUNTS if papers is not Variant.SPLIT or role is not Role.TEAM_LEAD])


def _fields(stream: Stream, category: str, units: int, spent_on: date, purpose: str) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "category": category,
        "purpose": purpose,
        "cost_center": f"CC-{stream.integer(100, 480)}",
        "incurred_on": spent_on.isoformat(),
        "receipt_number": f"R{stream.integer(10_000, 99_999)}",
    }
    if category in UNITS:
        fields[UNITS[category]] = units
    if category == "per_diem":
        fields |= {"days": stream.integer(5, 9), "receipt_attached": False}
        del fields["receipt_number"]
    return fields


def _record(
    world: WorldBuilder, stream: Stream, owner: Person, title: str, amount_cents: int, fields: dict[str, Any], day: date
) -> RecordRow:
    filed_at = draw_office_time(stream, working_days_from(day, stream.integer(1, 3)))
    return RecordRow(
        id=world.ids.take("EXP"),
        kind="expense",
        title=title,
        state="submitted",
        owner_id=owner.id,
        vendor_id=None,
        amount_cents=amount_cents,
        currency=CURRENCY,
        starts_on=day,
        ends_on=None,
        fields=fields,
        created_at=filed_at,
        updated_at=filed_at,
    )


def _split(world: WorldBuilder, stream: Stream, first: RecordRow, owner: Person, title: str) -> RecordRow:
    """Take about half of the amount off the first record and put it on a second one."""
    whole = first.amount_cents or 0
    share = rounded_amount(stream, whole * 2 // 5, whole * 3 // 5)
    number = f"R{stream.integer(10_000, 99_999)}"
    fields = {**first.fields, "receipt_number": number, "receipt_attached": True, "receipt_total_cents": share}
    second = _record(world, stream, owner, f"{title} (continued)", share, fields, first.starts_on or world.today)
    first.amount_cents = whole - share
    own = {"receipt_attached": True, "receipt_total_cents": whole - share, "continued_in": second.id}
    first.fields |= own
    return second


def _file_receipt(world: WorldBuilder, stream: Stream, record: RecordRow, total_cents: int) -> None:
    """File the receipt among the documents."""
    title = stream.choice(texts()["receipts"]["found"]).format(title=record.title)
    receipt = replace(
        record,
        id=world.ids.take("DOC"),
        kind="document",
        title=title,
        state="published",
        amount_cents=None,
        currency=None,
        fields={"document_type": "receipt", "expense_id": record.id, "total_cents": total_cents},
    )
    world.datahub.records.append(receipt)


def _add_paid(world: WorldBuilder, stream: Stream, record: RecordRow, *, is_same: bool) -> RecordRow:
    """Add an expense that was paid before: the same one, or another one of the same amount."""
    number = f"R{stream.integer(10_000, 99_999)}"
    day = record.starts_on if is_same else working_days_from(world.today, -stream.integer(40, 60))
    assert day is not None
    fields = {**record.fields, "incurred_on": day.isoformat(), "receipt_attached": True}
    fields.pop("continued_in", None)
    if not is_same:
        fields["receipt_number"] = number
    paid = replace(
        record,
        id=world.ids.take("EXP"),
        title=record.title if is_same else f"{record.fields['purpose']}, {day.day} {day:%B}",
        state="paid",
        starts_on=day,
        fields=fields,
        updated_at=record.created_at + timedelta(minutes=stream.integer(30, 400)),
        version=3,
    )
    world.datahub.records.append(paid)
    return paid


def _add_namesake(world: WorldBuilder, stream: Stream, record: RecordRow) -> None:
    """Add an expense of the same title that somebody else has handed in."""
    others = [one for one in world.staff.active() if one.id != record.owner_id and not one.roles]
    fields = {**record.fields, "receipt_attached": True, "receipt_number": f"R{stream.integer(10_000, 99_999)}"}
    fields.pop("continued_in", None)
    amount_cents = rounded_amount(stream, 20_000, 300_000)
    if "receipt_total_cents" in fields:
        fields["receipt_total_cents"] = amount_cents
    other = replace(
        record, id=world.ids.take("EXP"), owner_id=stream.choice(others).id, amount_cents=amount_cents, fields=fields
    )
    world.datahub.records.append(other)
