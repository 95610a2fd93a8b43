"""Vendors: names, registration, bank details with history, certificates."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from string import ascii_uppercase
from typing import Any

from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_time, working_days_from
from companyos_gateway.world.pools import pool
from companyos_gateway.world.seed_documents.datahub import (
    BankChangeRow,
    CertificateRow,
    RiskTier,
    VendorRow,
    VendorStatus,
)
from companyos_gateway.world.splits import words_for_split
from companyos_shared.streams import Stream

VENDORS = (15, 18)
CERTIFICATE_DAYS = 365
_MAX_DIGITS = 18
_LETTER_NUMBERS = str.maketrans({letter: str(int(letter, 36)) for letter in ascii_uppercase})
_STATUSES: list[tuple[VendorStatus, int]] = [("active", 12), ("prospect", 3), ("suspended", 1)]
_TIERS: list[tuple[RiskTier, int]] = [("low", 5), ("medium", 4), ("high", 1)]
_SOLD_BY: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("license", "software"), ("software", "cloud", "analytics")),
    (
        ("clean", "chair", "desk lamp", "whiteboard", "first aid", "shelving", "storage rack", "safety shoe"),
        ("facilities",),
    ),
    (("elevator", "waste", "plant care", "cooler", "extinguisher"), ("facilities",)),
    (("packaging", "crate", "pallet", "courier", "labels", "work glove"), ("logistics",)),
    (("training day",), ("staffing",)),
    (("translation", "payslip"), ("consulting", "staffing")),
    (("cafeteria", "catering"), ("catering",)),
    (("reception",), ("staffing",)),
    (("switches", "scanners", "headset", "docking", "printers", "monitors", "batteries"), ("software",)),
)
"""Vendor categories by words in the names of the goods that they sell; the first match counts."""


def draw_vendors(world: WorldBuilder, stream: Stream, count: tuple[int, int] = VENDORS) -> None:
    """Draw the company's existing vendors; `count` is the range of their number."""
    for _ in range(stream.integer(*count)):
        vendor = draw_vendor(world, stream)
        draw_certificates(world, stream, vendor)
        if stream.chance(0.25):
            draw_bank_change(world, stream, vendor)


def draw_vendor(
    world: WorldBuilder, stream: Stream, *, status: VendorStatus | None = None, goods: str = ""
) -> VendorRow:
    """Add a vendor and return it; if goods are given, its category is one that sells them."""
    names = pool("vendors")
    categories = categories_of(goods)
    trade = stream.choice([one for one in names["trade"] if not categories or one["category"] in categories])
    country = stream.choice(names["country"])
    while (name := f"{world.vendor_words.pop()} {stream.choice(trade['names'])}") in world.taken_names:
        pass
    contact = _person_name(stream)
    code = country["code"]
    vendor = VendorRow(
        id=world.ids.take("VEN"),
        name=name,
        legal_name=f"{name} {stream.choice(country['forms'])}",
        tax_id=_draw_tax_id(stream, code),
        country=code,
        category=trade["category"],
        status=stream.weighted(_STATUSES) if status is None else status,
        risk_tier=stream.weighted(_TIERS),
        contact_name=contact,
        contact_email=_address(contact, name),
        bank_iban=draw_iban(stream, code),
        notes=stream.choice(names["wording"]["notes"]),
    )
    world.datahub.vendors.append(vendor)
    return vendor


def draw_namesake(world: WorldBuilder, stream: Stream, vendor: VendorRow) -> VendorRow:
    """Add a vendor of the same country and category whose name differs only in the legal form, and return it."""
    form = next(form for form in _country(vendor.country)["forms"] if not vendor.legal_name.endswith(form))
    contact = _person_name(stream)
    lookalike = replace(
        vendor,
        id=world.ids.take("VEN"),
        legal_name=f"{vendor.name} {form}",
        tax_id=_draw_tax_id(stream, vendor.country),
        status=stream.weighted(_STATUSES),
        risk_tier=stream.weighted(_TIERS),
        contact_name=contact,
        contact_email=_address(contact, f"{vendor.name} {form}"),
        bank_iban=draw_iban(stream, vendor.country),
        notes=stream.choice(pool("vendors")["wording"]["notes"]),
        version=1,
    )
    world.datahub.vendors.append(lookalike)
    return lookalike


def categories_of(goods: str) -> tuple[str, ...]:
    """Return the categories of vendors that sell goods or services; empty if every category does."""
    words = goods.lower()
    return next((categories for names, categories in _SOLD_BY if any(name in words for name in names)), ())


def supplier_of(world: WorldBuilder, stream: Stream, goods: str) -> VendorRow:
    """Return a vendor that sells the goods; a new one if the company has none."""
    categories = categories_of(goods)
    known = [one for one in world.datahub.vendors if not categories or one.category in categories]
    return stream.choice(known) if known else draw_vendor(world, stream, goods=goods)


def draw_certificates(world: WorldBuilder, stream: Stream, vendor: VendorRow, *, expired: bool = False) -> None:
    """Add one or two certificates of a vendor; with `expired`, one of them has expired."""
    kinds = stream.sample(pool("vendors")["wording"]["certificates"], stream.integer(1, 2))
    for index, kind in enumerate(kinds):
        left = stream.integer(-90, -3) if expired and index == 0 else stream.integer(20, 330)
        add_certificate(world, vendor, kind, world.today + timedelta(days=left))


def add_certificate(world: WorldBuilder, vendor: VendorRow, kind: str, expires_on: date) -> CertificateRow:
    """Add a certificate of a vendor that ends on a day, and return it."""
    issued_on = expires_on - timedelta(days=CERTIFICATE_DAYS)
    row = CertificateRow(
        id=world.ids.take("CRT"), vendor_id=vendor.id, kind=kind, issued_on=issued_on, expires_on=expires_on
    )
    world.datahub.certificates.append(row)
    return row


def draw_bank_change(world: WorldBuilder, stream: Stream, vendor: VendorRow) -> None:
    """Add a past change of a vendor's bank details."""
    wording: dict[str, Any] = pool("vendors")["wording"]
    world.datahub.bank_changes.append(
        BankChangeRow(
            id=world.ids.take("BC"),
            vendor_id=vendor.id,
            changed_at=draw_office_time(stream, working_days_from(world.today, -stream.integer(20, 300))),
            old_iban=draw_iban(stream, vendor.country),
            new_iban=vendor.bank_iban,
            requested_by=stream.choice(wording["bank_requesters"]),
            channel=stream.choice(wording["channels"]),
        )
    )


def draw_iban(stream: Stream, country: str) -> str:
    """Draw an IBAN of that country, in its national format and with valid check digits (ISO 13616)."""
    account = _fill(stream, _country(country)["account"])
    number = int(f"{account}{country}00".translate(_LETTER_NUMBERS))
    return f"{country}{98 - number % 97:02}{account}"


def _draw_tax_id(stream: Stream, country: str) -> str:
    """Draw a VAT number of that country, in its national format, without its check digits."""
    return f"{country}{_fill(stream, _country(country)['vat'])}"


@cache
def _country(code: str) -> dict[str, Any]:
    return next(entry for entry in pool("vendors")["country"] if entry["code"] == code)


def _fill(stream: Stream, pattern: str) -> str:
    """Return a pattern with its nines replaced by digits and each `x` by a letter."""
    lettered = re.sub("x", lambda _: stream.choice(ascii_uppercase), pattern)
    return re.sub("9+", lambda run: _digits(stream, len(run[0])), lettered)


def _person_name(stream: Stream) -> str:
    names = pool("people")
    given, family = (words_for_split(stream, part, names[part]) for part in ("given", "family"))
    return f"{stream.choice(given)} {stream.choice(family)}"


def _digits(stream: Stream, count: int) -> str:
    if count > _MAX_DIGITS:
        return _digits(stream, count - _MAX_DIGITS) + _digits(stream, _MAX_DIGITS)
    return str(stream.integer(10 ** (count - 1), 10**count - 1))


def _address(contact: str, name: str) -> str:
    """Return the mail address of a person at a vendor."""
    domain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return f"{contact.lower().replace(' ', '.')}@{domain}.example"
