"""A request to change a vendor's bank details, its verification, earlier changes and the vendor's open invoices."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

from companyos_gateway.scenarios import kit

OLD_DAYS = (90, 300)
"""Age range of usual changes of bank details, in days."""

SOON_DAYS = (40, 50)
"""Age range, in days, of a change after which another one comes too soon; it precedes the letter about the other."""

OPEN_STATES = ("received", "approved")
"""The states of open invoices."""

AMOUNTS = {kit.Role.FINANCE_CONTROLLER: (60_000, 300_000), kit.Role.CFO: (2_000_000, 9_000_000)}
"""Ranges of the amount of one open invoice in cents, by the role that decides about the change."""

WAITED_DAYS = (10, 14)
"""Range of working days since the letter if the waiting period is over."""


class Variant(StrEnum):
    """Variant of the case: which verification shows that the change is genuine."""

    CALLED = "called"
    CALL_COMES = "call_comes"
    FORMER = "former"
    COOLING = "cooling"


class RefusalGround(StrEnum):
    """Ground for refusing a change: a sign of fraud, or an obstacle to making the change now."""

    SENDER = "sender"
    COUNTRY = "country"
    HOLDER = "holder"
    DENIED = "denied"
    WRONG_NUMBER = "wrong_number"
    SUSPENDED = "suspended"
    TOO_SOON = "too_soon"


@dataclass(frozen=True, kw_only=True)
class Letter:
    """A request to change a vendor's bank details, with its records."""

    variant: Variant
    ground: RefusalGround | None
    role: kit.Role
    vendor: kit.VendorRow
    document: kit.RecordRow
    last_change_days: int | None
    """Days since the last change of the bank details, if there is one."""
    former: kit.BankChangeRow | None
    """The earlier change that replaced the requested account, if there is one."""
    note: kit.RecordRow | None
    """The note of the call, if there is one."""
    open_cents: tuple[int, ...]
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


def add_letter(build: kit.BuildContext) -> Letter:
    """Add the vendor, the request, the call about it, the vendor's open invoices, and similar records."""
    world, stream = build.world, build.stream
    ground, variant = build.draw_ground(RefusalGround), stream.choice(list(Variant))
    if ground is not None:
        variant = Variant.CALLED
    role = stream.choice(list(AMOUNTS))
    vendor = build.vendor or kit.draw_vendor(world, stream, status="active")
    if ground is RefusalGround.SUSPENDED:
        vendor.status = "suspended"
    if build.vendor is None:
        kit.draw_certificates(world, stream, vendor, expired=kit.Kind.EXPIRED_CERTIFICATE in build.kinds)
    open_before = [one.amount_cents or 0 for one in world.datahub.records if _is_open_invoice(one, vendor)]
    last_change_days, former = _add_history(build.child("history"), vendor, variant, ground)
    document = _add_document(build.child("letter"), vendor, variant, ground, former)
    is_called = former is None and ground not in (RefusalGround.SENDER, RefusalGround.COUNTRY, RefusalGround.HOLDER)
    note = _add_note(build.child("note"), vendor, document, variant, ground) if is_called else None
    open_cents = _add_invoices(build.child("invoices"), role, vendor)
    if kit.Kind.SIMILAR_NAMES in build.kinds:
        _add_namesake(build.child("namesake"), vendor)
    return Letter(
        variant=variant,
        ground=ground,
        role=role,
        vendor=vendor,
        document=document,
        last_change_days=last_change_days,
        former=former,
        note=note,
        open_cents=(*open_before, *open_cents),
    )


def _is_open_invoice(record: kit.RecordRow, vendor: kit.VendorRow) -> bool:
    return (record.kind, record.vendor_id) == ("invoice", vendor.id) and record.state in OPEN_STATES


def _add_history(
    build: kit.BuildContext, vendor: kit.VendorRow, variant: Variant, ground: RefusalGround | None
) -> tuple[int | None, kit.BankChangeRow | None]:
    """Add earlier changes; return the age of the last one in days, and the one that replaced the requested account."""
    world, stream, wording = build.world, build.stream, kit.pool("vendors")["wording"]
    old, soon = stream.integer(*OLD_DAYS), stream.integer(*SOON_DAYS)
    has_one, has_two = stream.chance(0.6), stream.chance(0.4)
    last_days = soon if ground is RefusalGround.TOO_SOON else old
    if not (has_one or variant is Variant.FORMER or ground is RefusalGround.TOO_SOON):
        return None, None
    before = kit.draw_iban(stream, vendor.country)
    changes = [(before, vendor.bank_iban, last_days)]
    if has_two:
        changes.insert(0, (kit.draw_iban(stream, vendor.country), before, last_days + stream.integer(*OLD_DAYS)))
    rows = [
        kit.BankChangeRow(
            id=world.ids.take("BC"),
            vendor_id=vendor.id,
            changed_at=kit.draw_office_time(stream, build.today - timedelta(days=days_ago)),
            old_iban=old_iban,
            new_iban=new_iban,
            requested_by=stream.choice(wording["bank_requesters"]),
            channel=stream.choice(wording["channels"]),
        )
        for old_iban, new_iban, days_ago in changes
    ]
    world.datahub.bank_changes.extend(rows)
    former = stream.choice(rows)
    return last_days, former if variant is Variant.FORMER else None


def _add_document(
    build: kit.BuildContext,
    vendor: kit.VendorRow,
    variant: Variant,
    ground: RefusalGround | None,
    former: kit.BankChangeRow | None,
) -> kit.RecordRow:
    stream, words = build.stream, kit.load_texts(__file__)
    days_ago = 1 if variant is Variant.COOLING else stream.integer(*WAITED_DAYS)
    received_on = kit.working_days_from(build.today, -days_ago)
    country = vendor.country
    if ground is RefusalGround.COUNTRY:
        country = stream.choice([one["code"] for one in kit.pool("vendors")["country"] if one["code"] != country])
    fields = {
        "document_type": "bank_change_request",
        "new_iban": former.old_iban if former is not None else kit.draw_iban(stream, country),
        "account_holder": vendor.legal_name,
        "requested_by": vendor.contact_name,
        "sent_from": vendor.contact_email,
        "received_on": received_on.isoformat(),
    }
    if ground is RefusalGround.SENDER:
        domain = stream.choice(["-billing.example", ".example.net", "-group.example"])
        fields["sent_from"] = vendor.contact_email.replace(".example", domain)
    if ground is RefusalGround.HOLDER:
        fields["account_holder"] = stream.choice(words["unknown_holders"])
    title = stream.choice(words["letters"]).format(vendor=vendor.name)
    return build.file_record(
        "document", title=title, state="in_review", day=received_on, vendor_id=vendor.id, fields=fields
    )


def _add_note(
    build: kit.BuildContext,
    vendor: kit.VendorRow,
    document: kit.RecordRow,
    variant: Variant,
    ground: RefusalGround | None,
) -> kit.RecordRow:
    """Add the note of a call, which is a draft if the call is still to come."""
    world, stream, is_open = build.world, build.stream, variant is Variant.CALL_COMES
    since = max(document.created_at, kit.closing_time(kit.working_days_from(build.today, -2)))
    [noted_at] = kit.draw_office_moments(stream, since, world.last_evening)
    day = noted_at.date()
    fields: dict[str, Any] = {
        "document_type": "call_note",
        "request_id": document.id,
        "number_from": "change request" if ground is RefusalGround.WRONG_NUMBER else "vendor record",
    }
    fields |= {"spoke_to": "", "confirmed": False, "called_on": ""} if is_open else confirmation(vendor, day)
    if ground is RefusalGround.DENIED:
        fields["confirmed"] = False
    title = stream.choice(kit.load_texts(__file__)["notes"]).format(vendor=vendor.name)
    state = "draft" if is_open else "published"
    note = build.file_record("document", title=title, state=state, day=day, vendor_id=vendor.id, fields=fields)
    note.created_at = note.updated_at = noted_at
    return note


def confirmation(vendor: kit.VendorRow, day: date) -> dict[str, Any]:
    """Return the fields of a call note once the vendor's contact has confirmed the account."""
    return {"spoke_to": vendor.contact_name, "confirmed": True, "called_on": day.isoformat()}


def _add_invoices(build: kit.BuildContext, role: kit.Role, vendor: kit.VendorRow) -> tuple[int, ...]:
    """Add open invoices of the vendor, and settled ones that do not count; return the amounts of the open ones."""
    stream = build.stream
    open_states = [stream.choice(OPEN_STATES) for _ in range(stream.integer(2, 4))]
    settled = stream.sample(["paid", "rejected", "on_hold", "paid"], stream.integer(1, 3))
    amounts = [kit.rounded_amount(stream, *AMOUNTS[role]) for _ in (*open_states, *settled)]
    for state, amount_cents in zip((*open_states, *settled), amounts, strict=True):
        _invoice(build, vendor, state, amount_cents)
    return tuple(amounts[: len(open_states)])


def _invoice(build: kit.BuildContext, vendor: kit.VendorRow, state: str, amount_cents: int) -> None:
    stream, day, due_on = build.stream, build.working_day_ago(2, 25), build.working_day(5, 30)
    build.file_record(
        "invoice",
        title=stream.choice(kit.load_texts(__file__)["invoices"]),
        state=state,
        day=day,
        vendor_id=vendor.id,
        fields={"invoice_number": f"R{stream.integer(10_000, 99_999)}", "due_on": due_on.isoformat()},
        amount_cents=amount_cents,
        starts_on=day,
    )


def _add_namesake(build: kit.BuildContext, vendor: kit.VendorRow) -> None:
    """Add a vendor with a similar name that has also asked for a change of its bank details."""
    other = kit.draw_namesake(build.world, build.stream, vendor)
    kit.draw_certificates(build.world, build.stream, other)
    _add_document(build, other, Variant.CALLED, None, None)
    _invoice(build, other, "received", kit.rounded_amount(build.stream, 50_000, 900_000))
