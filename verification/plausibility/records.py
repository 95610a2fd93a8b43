"""Vendors, records and amounts that belong together are consistent."""

from __future__ import annotations

import re
from itertools import pairwise

from companyos_gateway.world.pools import pool
from verification.plausibility.facts import Facts, Found, Row

_DOMAIN_OF_COUNTRY = {"GB": "uk"}
_GENERIC_DOMAINS = frozenset({"com", "net", "org", "eu", "example"})

_GOODS = {
    r"licen[cs]e|software|subscription": ("software", "cloud", "analytics"),
    r"\bclean|chair|desk lamp|whiteboard|first aid|shelving|storage rack|safety shoe": ("facilities",),
    r"elevator|waste|plant care|water cooler|extinguisher": ("facilities",),
    r"packaging|crate|pallet|courier|\blabels|work glove": ("logistics",),
    r"training day": ("staffing", "consulting"),
    r"translation|payslip": ("consulting", "staffing"),
    r"switches|scanners|headset|docking|printers|monitors|batteries": ("software",),
    r"catering|cafeteria": ("catering",),
}
CATEGORIES = tuple((re.compile(words, re.IGNORECASE), frozenset(fitting)) for words, fitting in _GOODS.items())
"""Categories of vendors that fit a purchase, by words in its title."""

CUMULATIVE = frozenset({"spend_to_date", "budget_used"})
"""Metrics that accumulate from 1 January and do not decrease within a year."""

_MAX_OF_UNIT = {"percent": 100, "points": 100, "per mille": 1000, "tenths of a point": 1000}


def vendor_identity(facts: Facts) -> Found:
    """Yield vendors whose legal form, tax number, account or mail domain does not match their country or name."""
    forms = {entry["code"]: entry["forms"] for entry in pool("vendors")["country"]}
    for row in facts.vendors.values():
        key, country = row["id"], row["country"]
        if not any(row["legal_name"].endswith(f" {form}") for form in forms[country]):
            yield key, f"{row['legal_name']} has no legal form of {country}."
        if not row["tax_id"].startswith(country):
            yield key, f"The tax number {row['tax_id']} is not of {country}."
        if not row["bank_iban"].startswith(country):
            yield key, f"The account {row['bank_iban']} is not in {country}."
        if not _has_valid_check_digits(row["bank_iban"]):
            yield key, f"The account {row['bank_iban']} has wrong check digits."
        domain = row["contact_email"].rpartition("@")[2]
        if not domain.startswith(re.sub(r"[^a-z0-9]+", "-", row["name"].lower())):
            yield key, f"The mail domain {domain} is not of {row['name']}."
        ending = domain.rpartition(".")[2]
        if ending not in _GENERIC_DOMAINS and ending != _DOMAIN_OF_COUNTRY.get(country, country.lower()):
            yield key, f"The mail domain {domain} is not of {country}."
        local = row["contact_email"].partition("@")[0]
        if local != row["contact_name"].lower().replace(" ", "."):
            yield key, f"The address {row['contact_email']} is not of {row['contact_name']}."
    yield from _accounts(facts)


def vendor_categories(facts: Facts) -> Found:
    """Yield vendors and purchases whose vendor category does not match."""
    trades = {name: trade["category"] for trade in pool("vendors")["trade"] for name in trade["names"]}
    for row in facts.vendors.values():
        trade = max((name for name in trades if row["name"].endswith(f" {name}")), key=len, default=None)
        if trade is not None and trades[trade] != row["category"]:
            yield row["id"], f"{row['name']} is of the category {row['category']}."
    for record in facts.records.values():
        if record["kind"] not in ("contract", "license", "purchase_order", "invoice", "goods_receipt"):
            continue
        vendor = facts.vendors.get(record["vendor_id"] or "")
        if vendor is None:
            continue
        title = record["title"].replace(vendor["legal_name"], "").replace(vendor["name"], "")
        fitting = next((found for words, found in CATEGORIES if words.search(title)), None)
        if fitting is not None and vendor["category"] not in fitting:
            yield record["id"], f"{record['title']} comes from {vendor['name']}, a vendor of {vendor['category']}."


def amounts(facts: Facts) -> Found:
    """Yield amounts that do not match quantities, prices, receipts or orders."""
    for row in facts.records.values():
        fields = row["fields"]
        quantity, price = fields.get("quantity"), fields.get("unit_price_cents")
        if quantity is not None and price is not None and row["amount_cents"] != quantity * price:
            yield row["id"], f"{quantity} pieces at {price} cents are not {row['amount_cents']} cents."
        if fields.get("seats_used", 0) > fields.get("seats", 0):
            yield row["id"], f"{fields['seats_used']} of {fields['seats']} seats are used."
        total = fields.get("receipt_total_cents")
        if (
            total
            and fields.get("receipt_attached")
            and row["id"] not in facts.deliberate
            and total != row["amount_cents"]
        ):
            yield row["id"], f"Receipts of {total} cents, amount {row['amount_cents']} cents."
        if total and fields.get("receipt_attached") is False:
            yield row["id"], "It has a total of receipts without a receipt."
        years, yearly = fields.get("term_years"), fields.get("yearly_price_cents")
        if years and yearly and row["state"] != "renewed" and row["amount_cents"] != years * yearly:
            yield row["id"], f"{years} years at {yearly} cents are not {row['amount_cents']} cents."
        yield from _agree_with_subject(facts, row)
    for request in facts.requests.values():
        subject, amount = facts.records.get(request["subject"]), request["fields"].get("amount_cents")
        if subject is not None and amount is not None and subject["amount_cents"] not in (None, amount):
            yield request["id"], f"It is about {amount} cents, its subject about {subject['amount_cents']} cents."


def cumulative_metrics(facts: Facts) -> Found:
    """Yield cumulative metrics that decrease within a year, and values above the maximum of their unit."""
    history: dict[str, list[tuple[str, float]]] = {row["id"]: [] for row in facts.datahub["metrics"]}
    for row in facts.datahub["metric_values"]:
        history[row["metric_id"]].append((row["as_of"], row["value"]))
    planned = {row["metric_id"]: row["value"] for row in facts.datahub["refresh_plans"] if row["value"] is not None}
    for row in facts.datahub["metrics"]:
        values = [*sorted(history[row["id"]]), (row["as_of"], row["value"])]
        if row["id"] in planned:
            values.append((facts.started_at, planned[row["id"]]))
        for (one_at, one), (other_at, other) in pairwise(values):
            if row["key"] in CUMULATIVE and other < one and one_at[:4] == other_at[:4]:
                yield row["id"], f"{row['title']} fell from {one:g} at {one_at} to {other:g} at {other_at}."
        most = max(value for _, value in values)
        if most > _MAX_OF_UNIT.get(row["unit"], most):
            yield row["id"], f"{row['title']} is {most:g} {row['unit']}."


def _has_valid_check_digits(iban: str) -> bool:
    """Return whether an IBAN's check digits are valid (ISO 13616)."""
    return int("".join(str(int(character, 36)) for character in iban[4:] + iban[:4])) % 97 == 1


def _accounts(facts: Facts) -> Found:
    changes: dict[str, list[Row]] = {}
    for row in sorted(facts.datahub["bank_changes"], key=lambda one: str(one["changed_at"])):
        changes.setdefault(row["vendor_id"], []).append(row)
    for vendor_id, rows in changes.items():
        country = facts.vendors[vendor_id]["country"]
        current = [row["old_iban"] for row in rows[1:]] + [facts.vendors[vendor_id]["bank_iban"]]
        for row, following in zip(rows, current, strict=True):
            if row["new_iban"] != following:
                yield row["id"], f"It changed the account to {row['new_iban']}, but the next one is {following}."
            if not (row["old_iban"] or country).startswith(country):
                yield row["id"], f"The account {row['old_iban']} is not in {country}."


def _agree_with_subject(facts: Facts, row: Row) -> Found:
    """Yield receipts, invoices and credit notes that do not match their subject, except deliberate ones."""
    fields = row["fields"]
    order = facts.records.get(str(fields.get("purchase_order_id")))
    wrong = set(re.findall(r"[A-Z]+-\d+", facts.deliberate))
    if order is not None and wrong & {row["id"], order["id"], row["vendor_id"]}:
        return
    if order is not None and row["vendor_id"] != order["vendor_id"]:
        yield row["id"], f"It is of {row['vendor_id']}, but its order {order['id']} went to {order['vendor_id']}."
    expense = facts.records.get(str(fields.get("expense_id")))
    if expense is not None and fields.get("total_cents") != expense["amount_cents"]:
        yield (
            row["id"],
            f"The receipt is of {fields.get('total_cents')} cents, {expense['id']} of {expense['amount_cents']}.",
        )
    invoice = facts.records.get(str(fields.get("invoice_id")))
    if invoice is not None and fields["total_cents"] != fields["quantity"] * invoice["fields"]["unit_price_cents"]:
        yield row["id"], f"The credit note is of {fields['total_cents']} cents, which does not fit its invoice."
