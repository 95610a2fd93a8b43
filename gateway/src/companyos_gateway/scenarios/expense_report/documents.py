"""The records of a report, its receipt, and expenses that look like it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Any

from companyos_gateway.scenarios import kit

AMOUNTS = {
    kit.Role.TEAM_LEAD: (24_000, 80_000),
    kit.Role.FINANCE_CONTROLLER: (120_000, 400_000),
    kit.Role.CFO: (600_000, 1_800_000),
}
"""Amounts in cents by the role that decides about them."""

UNLIMITED = ("travel", "training", "equipment")
UNITS = {"lodging": "nights", "meal": "attendees"}
"""The field that counts the units of a category whose price per unit is limited."""

UNIT_COUNTS = {kit.Role.TEAM_LEAD: (2, 5), kit.Role.FINANCE_CONTROLLER: (10, 30)}
"""Nights or attendees by the role that decides: a CFO decides about no expense that has a limit for each."""

PERSONAL = ("fine", "minibar", "gift", "clothing", "phone_cover")
RECEIPT_DAYS = timedelta(days=5)
"""Days within which the employee files a missing receipt."""


class Variant(StrEnum):
    """Variant of the case: complete, receipt elsewhere or late, two records, or flat rate."""

    WHOLE = "whole"
    FOUND = "found"
    COMES = "comes"
    SPLIT = "split"
    PER_DIEM = "per_diem"


class RefusalGround(StrEnum):
    """Why a report must be refused; the value is the policy's reason code."""

    OVER_LIMIT = "policy_violation"
    PERSONAL = "not_entitled"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report as it was filed; the ticket names the first of its records."""

    variant: Variant
    ground: RefusalGround | None
    role: kit.Role
    owner: kit.Person
    manager_id: str
    records: tuple[kit.RecordRow, ...]
    amounts: tuple[int, ...]
    """The amount of each record, in cents."""
    paid_id: str | None
    """The paid record with the same receipt number, if there is one."""

    @property
    def first(self) -> kit.RecordRow:
        """The first record."""
        return self.records[0]

    @property
    def amount_cents(self) -> int:
        """The amount of the whole report."""
        return sum(self.amounts)

    @property
    def category(self) -> str:
        """The category of the expense."""
        return str(self.first.fields["category"])

    @property
    def missing_receipt(self) -> dict[str, Any]:
        """The fields that the first record still needs; empty if no receipt is missing."""
        is_missing = self.variant in (Variant.FOUND, Variant.COMES)
        return {"receipt_attached": True, "receipt_total_cents": self.first.amount_cents} if is_missing else {}


def add_report(build: kit.BuildContext) -> Report:
    """Add the records of a report, its receipt if that is filed elsewhere, and expenses that look like it."""
    world, stream = build.world, build.stream
    people = world.present(world.today, world.today + RECEIPT_DAYS)
    owner = stream.choice([one for one in people if not one.roles and one.id != world.agent_id])
    ground = build.draw_ground(RefusalGround)
    variant = stream.choice(list(Variant))
    if ground is not None and variant is not Variant.FOUND:
        variant = Variant.WHOLE
    category = _category(stream, variant, ground)
    role = _role(stream, variant, category)
    amounts = [kit.rounded_amount(stream, *AMOUNTS[role])]
    if variant is Variant.SPLIT:
        second = kit.rounded_amount(stream, amounts[0] * 2 // 5, amounts[0] * 3 // 5)
        amounts = [amounts[0] - second, second]
    records = _file_records(build, owner, variant, category, role, amounts)
    first = records[0]
    if variant is Variant.FOUND:
        title = stream.choice(kit.load_texts(__file__)["receipts"]["found"]).format(title=first.title)
        fields = {"document_type": "receipt", "expense_id": first.id, "total_cents": first.amount_cents}
        columns: dict[str, Any] = {"kind": "document", "state": "published", "amount_cents": None, "currency": None}
        receipt = replace(first, id=world.ids.take("DOC"), title=title, fields=fields, **columns)
        world.datahub.records.append(receipt)
    paid = _add_paid(build, first, is_same=ground is RefusalGround.DUPLICATE)
    if kit.Kind.SIMILAR_NAMES in build.kinds:
        others = [one.id for one in world.staff.active() if one.id != owner.id and not one.roles]
        amount_cents = kit.rounded_amount(stream, 20_000, 300_000)
        _add_similar(build, first, {}, owner_id=stream.choice(others), amount_cents=amount_cents)
    return Report(
        variant=variant,
        ground=ground,
        role=role,
        owner=owner,
        manager_id=world.staff.lead(owner.team_id).id,
        records=tuple(records),
        amounts=tuple(amounts),
        paid_id=paid.id if ground is RefusalGround.DUPLICATE else None,
    )


def _category(stream: kit.Stream, variant: Variant, ground: RefusalGround | None) -> str:
    limited, unlimited, personal = (stream.choice(names) for names in (tuple(UNITS), UNLIMITED, PERSONAL))
    if ground is RefusalGround.PERSONAL:
        return personal
    if ground is RefusalGround.OVER_LIMIT:
        return limited
    if variant is Variant.PER_DIEM:
        return "per_diem"
    return unlimited if variant is Variant.SPLIT or stream.chance(0.4) else limited


def _role(stream: kit.Stream, variant: Variant, category: str) -> kit.Role:
    """Draw the role that decides, among those whose amounts are plausible for the category."""
    if category == "per_diem" or category in PERSONAL:
        return kit.Role.TEAM_LEAD
    if category in UNITS:
        return stream.choice(list(UNIT_COUNTS))
    return stream.choice([role for role in AMOUNTS if variant is not Variant.SPLIT or role is not kit.Role.TEAM_LEAD])


def _file_records(
    build: kit.BuildContext, owner: kit.Person, variant: Variant, category: str, role: kit.Role, amounts: list[int]
) -> list[kit.RecordRow]:
    """File a record of each amount; the first names the second."""
    stream = build.stream
    spent_on = build.working_day_ago(6, 30)
    purpose = stream.choice(kit.load_texts(__file__)["purposes"])
    fields: dict[str, Any] = {
        "category": category,
        "purpose": purpose,
        "cost_center": f"CC-{stream.integer(100, 480)}",
        "incurred_on": spent_on.isoformat(),
    }
    if category in UNITS:
        fields[UNITS[category]] = stream.integer(*UNIT_COUNTS[role])
    is_attached = variant in (Variant.WHOLE, Variant.SPLIT)
    records: list[kit.RecordRow] = []
    for amount_cents in amounts:
        receipt = {
            "receipt_number": f"R{stream.integer(10_000, 99_999)}",
            "receipt_attached": is_attached,
            "receipt_total_cents": amount_cents if is_attached else 0,
        }
        if category == "per_diem":
            receipt = {"days": stream.integer(5, 9), "receipt_attached": False}
        records.append(
            build.file_record(
                "expense",
                title=_title(purpose, spent_on) + (" (continued)" if records else ""),
                state="submitted",
                day=kit.working_days_from(spent_on, stream.integer(1, 3)),
                fields=fields | receipt,
                owner_id=owner.id,
                amount_cents=amount_cents,
                starts_on=spent_on,
            )
        )
    for record, following in pairwise(records):
        record.fields["continued_in"] = following.id
    return records


def _title(purpose: str, day: date) -> str:
    return f"{purpose}, {day.day} {day:%B}"


def _add_paid(build: kit.BuildContext, record: kit.RecordRow, *, is_same: bool) -> kit.RecordRow:
    """Add an expense that was paid before: the same one, or another one of the same amount."""
    stream = build.stream
    updated_at = record.created_at + timedelta(minutes=stream.integer(30, 400))
    columns: dict[str, Any] = {"state": "paid", "updated_at": updated_at, "version": 3}
    if is_same:
        return _add_similar(build, record, {"receipt_number": record.fields["receipt_number"]}, **columns)
    day = build.working_day_ago(40, 60)
    title = _title(record.fields["purpose"], day)
    return _add_similar(build, record, {"incurred_on": day.isoformat()}, title=title, starts_on=day, **columns)


def _add_similar(
    build: kit.BuildContext, record: kit.RecordRow, fields: dict[str, Any], **columns: Any
) -> kit.RecordRow:
    """Add an expense that differs from a record in these fields and columns; it has its receipt."""
    world, stream = build.world, build.stream
    other = replace(record, id=world.ids.take("EXP"), **columns)
    receipt = {
        "receipt_number": f"R{stream.integer(10_000, 99_999)}",
        "receipt_attached": True,
        "receipt_total_cents": other.amount_cents,
    }
    other.fields = {**record.fields, **receipt, **fields}
    other.fields.pop("continued_in", None)
    world.datahub.records.append(other)
    return other
