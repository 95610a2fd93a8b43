"""A request to change a vendor's bank details, its verification, earlier changes and the vendor's open invoices."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.documents import file_record
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import closing_time, draw_office_moments, draw_office_time, working_days_from
from companyos_gateway.world.pools import pool
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.datahub import BankChangeRow, RecordRow, VendorRow
from companyos_gateway.world.vendors import draw_certificates, draw_iban, draw_namesake, draw_vendor
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

OLD_DAYS = (90, 300)
"""How many days ago usual changes of bank details were."""

SOON_DAYS = (40, 50)
"""How many days ago one was after which another comes too soon: before the letter about the other."""

AMOUNTS = {Role.FINANCE_CONTROLLER: (60_000, 300_000), Role.CFO: (2_000_000, 9_000_000)}
"""Amounts in cents of one open invoice, by the role that will decide about the change."""

WAITED_DAYS = (10, 14)
"""Working days since the letter came where nobody has to be patient any more."""


class Variant(StrEnum):
    """Variant of the case: which verification shows that the change is genuine."""

    CALLED = "called"
    CALL_COMES = "call_comes"
    FORMER = "former"
    COOLING = "cooling"


class RefusalGround(StrEnum):
    """Why a change must be refused: what of it is a sign of fraud, or what keeps it from being made now."""

    SENDER = "sender"
    COUNTRY = "country"
    HOLDER = "holder"
    DENIED = "denied"
    WRONG_NUMBER = "wrong_number"
    SUSPENDED = "suspended"
    TOO_SOON = "too_soon"


@dataclass(frozen=True, kw_only=True)
class Letter:
    """A request to change a vendor's bank details, and what is known about it."""

    variant: Variant
    ground: RefusalGround | None
    role: Role
    vendor: VendorRow
    document: RecordRow
    last_change_days: int | None
    """How many days ago the bank details were last changed."""
    former: BankChangeRow | None
    """The earlier change that replaced the requested account, if there is one."""
    note: RecordRow | None = None
    """The note of the call, if there is one."""
    open_cents: tuple[int, ...] = ()
    """The amounts of the vendor's open invoices."""

    @property
    def new_iban(self) -> str:
        """The requested account."""
        return str(self.document.fields["new_iban"])

    @property
    def received_on(self) -> date:
        """The day on which the request was received."""
        return date.fromisoformat(self.document.fields["received_on"])

    @property
    def open_amount_cents(self) -> int:
        """The sum of the open invoices."""
        return sum(self.open_cents)


def add_letter(world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Letter:
    """Add the vendor, the request, the call about it and the vendor's open invoices, and what looks like them."""
    ground = stream.choice(list(RefusalGround)) if must_refuse else None
    variant = stream.choice(list(Variant))
    variant = variant if ground is None else Variant.CALLED
    role = stream.choice(list(AMOUNTS))
    vendor = draw_vendor(world, stream, status="suspended" if ground is RefusalGround.SUSPENDED else "active")
    draw_certificates(world, stream, vendor, expired=Kind.EXPIRED_CERTIFICATE in kinds)
    last_days, former = _add_history(world, stream.child("history"), vendor, variant, ground)
    new_iban = former.old_iban if former is not None else None
    letter = Letter(
        variant=variant,
        ground=ground,
        role=role,
        vendor=vendor,
        document=_add_document(world, stream.child("letter"), vendor, variant, ground, new_iban=new_iban),
        last_change_days=last_days,
        former=former,
    )
    is_called = former is None and ground not in (RefusalGround.SENDER, RefusalGround.COUNTRY, RefusalGround.HOLDER)
    note = _add_note(world, stream.child("note"), letter) if is_called else None
    open_cents = _add_invoices(world, stream.child("invoices"), role, vendor)
    if Kind.SIMILAR_NAMES in kinds:
        _add_namesake(world, stream.child("namesake"), letter)
    return replace(letter, note=note, open_cents=open_cents)


def _add_history(
    world: WorldBuilder, stream: Stream, vendor: VendorRow, variant: Variant, ground: RefusalGround | None
) -> tuple[int | None, BankChangeRow | None]:
    """Add earlier changes; return how many days ago the last was, and the one that gave up the account asked for."""
    old, soon = stream.integer(*OLD_DAYS), stream.integer(*SOON_DAYS)
    has_one, has_two = stream.chance(0.6), stream.chance(0.4)
    last_days = soon if ground is RefusalGround.TOO_SOON else old
    if not (has_one or variant is Variant.FORMER or ground is RefusalGround.TOO_SOON):
        return None, None
    before = draw_iban(stream, vendor.country)
    changes = [(before, vendor.bank_iban, last_days)]
    if has_two:
        changes.insert(0, (draw_iban(stream, vendor.country), before, last_days + stream.integer(*OLD_DAYS)))
    rows = [_bank_change(world, stream, vendor, *change) for change in changes]
    former = stream.choice(rows)
    return last_days, former if variant is Variant.FORMER else None


def _bank_change(
    world: WorldBuilder, stream: Stream, vendor: VendorRow, old_iban: str, new_iban: str, days_ago: int
) -> BankChangeRow:
    wording: dict[str, Any] = pool("vendors")["wording"]
    changed_at = draw_office_time(stream, world.today - timedelta(days=days_ago))
    row = BankChangeRow(
        id=world.ids.take("BC"),
        vendor_id=vendor.id,
        changed_at=changed_at,
        old_iban=old_iban,
        new_iban=new_iban,
        requested_by=stream.choice(wording["bank_requesters"]),
        channel=stream.choice(wording["channels"]),
    )
    world.datahub.bank_changes.append(row)
    return row


def _add_document(
    world: WorldBuilder,
    stream: Stream,
    vendor: VendorRow,
    variant: Variant,
    ground: RefusalGround | None,
    *,
    new_iban: str | None,
) -> RecordRow:
    days_ago = 1 if variant is Variant.COOLING else stream.integer(*WAITED_DAYS)
    received_on = working_days_from(world.today, -days_ago)
    country = vendor.country
    if ground is RefusalGround.COUNTRY:
        country = stream.choice([one["code"] for one in pool("vendors")["country"] if one["code"] != country])
    fields = {
        "document_type": "bank_change_request",
        "new_iban": new_iban or draw_iban(stream, country),
        "account_holder": vendor.legal_name,
        "requested_by": vendor.contact_name,
        "sent_from": vendor.contact_email,
        "received_on": received_on.isoformat(),
    }
    if ground is RefusalGround.SENDER:
        fields["sent_from"] = _similar_vendor(stream, vendor.contact_email)
    if ground is RefusalGround.HOLDER:
        fields["account_holder"] = stream.choice(load_texts(__file__)["unknown_holders"])
    title = stream.choice(load_texts(__file__)["letters"]).format(vendor=vendor.name)
    return file_record(
        world,
        stream,
        "document",
        title=title,
        state="in_review",
        day=received_on,
        vendor_id=vendor.id,
        fields=fields,
    )


def _similar_vendor(stream: Stream, address: str) -> str:
    name, _, domain = address.partition("@")
    return f"{name}@{domain.replace('.example', stream.choice(['-billing.example', '.example.net', '-group.example']))}"


def _add_note(world: WorldBuilder, stream: Stream, letter: Letter) -> RecordRow:
    is_open = letter.variant is Variant.CALL_COMES
    since = max(letter.document.created_at, closing_time(working_days_from(world.today, -2)))
    [noted_at] = draw_office_moments(stream, since, world.last_evening)
    fields: dict[str, Any] = {
        "document_type": "call_note",
        "request_id": letter.document.id,
        "number_from": "vendor record",
        "spoke_to": "",
        "confirmed": False,
        "called_on": "",
    }
    if not is_open:
        fields |= confirmation(letter, noted_at.date())
    if letter.ground is RefusalGround.DENIED:
        fields["confirmed"] = False
    if letter.ground is RefusalGround.WRONG_NUMBER:
        fields["number_from"] = "change request"
    title = stream.choice(load_texts(__file__)["notes"]).format(vendor=letter.vendor.name)
    state = "draft" if is_open else "published"
    vendor_id = letter.vendor.id
    note = file_record(
        world, stream, "document", title=title, state=state, day=noted_at.date(), vendor_id=vendor_id, fields=fields
    )
    note.created_at = note.updated_at = noted_at
    return note


def confirmation(letter: Letter, day: date) -> dict[str, Any]:
    """Return the fields of a call note once the vendor's contact has confirmed the account."""
    return {"spoke_to": letter.vendor.contact_name, "confirmed": True, "called_on": day.isoformat()}


def _add_invoices(world: WorldBuilder, stream: Stream, role: Role, vendor: VendorRow) -> tuple[int, ...]:
    """Add open invoices of the vendor, and settled ones that do not count; return the amounts of the open ones."""
    open_states = [stream.choice(["received", "approved"]) for _ in range(stream.integer(2, 4))]
    settled = stream.sample(["paid", "rejected", "on_hold", "paid"], stream.integer(1, 3))
    amounts = [rounded_amount(stream, *AMOUNTS[role]) for _ in (*open_states, *settled)]
    for state, amount_cents in zip((*open_states, *settled), amounts, strict=True):
        _invoice(world, stream, vendor, state, amount_cents)
    return tuple(amounts[: len(open_states)])


def _invoice(world: WorldBuilder, stream: Stream, vendor: VendorRow, state: str, amount_cents: int) -> None:
    day = working_days_from(world.today, -stream.integer(2, 25))
    due_on = working_days_from(world.today, stream.integer(5, 30))
    file_record(
        world,
        stream,
        "invoice",
        title=stream.choice(load_texts(__file__)["invoices"]),
        state=state,
        day=day,
        vendor_id=vendor.id,
        fields={"invoice_number": f"R{stream.integer(10_000, 99_999)}", "due_on": due_on.isoformat()},
        amount_cents=amount_cents,
        starts_on=day,
    )


def _add_namesake(world: WorldBuilder, stream: Stream, letter: Letter) -> None:
    """Add a vendor of nearly the same name that has written about its bank details as well."""
    other = draw_namesake(world, stream, letter.vendor)
    draw_certificates(world, stream, other)
    _add_document(world, stream, other, Variant.CALLED, None, new_iban=None)
    _invoice(world, stream, other, "received", rounded_amount(stream, 50_000, 900_000))
