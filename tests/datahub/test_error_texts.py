"""Error messages contain the value and the accepted values."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_shared.framework.testing import ServiceHarness

NAMES = "title, state, owner_id, amount_cents, starts_on, ends_on, fields"
VENDOR_NAMES = "name, category, status, risk_tier, contact_name, contact_email, bank_iban, notes, certificate"
ISSUE = {"subject": "MET-1", "kind": "wrong", "description": "Wrong."}


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        ("/records/LIC-77", {}, f"at least one of {NAMES} is required"),
        (
            "/records/LIC-77",
            {"fields": {"colour": 1}},
            "fields.colour is not a field of this license; accepted: product, seats, term_months, auto_renews",
        ),
        ("/records/LIC-77", {"fields": {"seats": "41"}}, 'fields.seats must be of type integer; got "41"'),
        ("/records/LIC-77", {"title": " "}, 'title must not be blank; got " "'),
        ("/vendors/VEN-202", {"name": "\t"}, r'name must not be blank; got "\t"'),
        ("/vendors/VEN-202", {}, f"at least one of {VENDOR_NAMES} is required"),
        (
            "/vendors/VEN-202",
            {"status": "prospect"},
            "VEN-202 cannot change from active to prospect; allowed: suspended",
        ),
    ],
)
async def test_a_rejected_change_names_the_accepted_values(
    hub: ServiceHarness, path: str, body: dict[str, Any], detail: str
) -> None:
    assert (await hub.patch(path, json=body)).json()["detail"] == detail


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"subject": "X"}, 'subject must be the id of a metric, source, record, vendor, person or policy; got "X"'),
        ({"description": "  "}, 'description must not be blank; got "  "'),
        ({"reason_code": "fraud_suspected", "reason_ref": " "}, 'reason_ref must not be blank; got " "'),
        ({"reason_code": "fraud_suspected"}, "reason_code and reason_ref must be given together"),
    ],
)
async def test_a_rejected_report_names_the_accepted_values(
    hub: ServiceHarness, change: dict[str, Any], detail: str
) -> None:
    assert (await hub.post("/data-issues", json=ISSUE | change)).json()["detail"] == detail


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/records?kind=credit_note", "kind must be one of contract, license, expense,"),
        ("/records?state=lost", "state must be one of draft, in_review, active, renewed,"),
        ("/people/E-1", 'no person in the directory, current or former, has the id "E-1"'),
        ("/readings?key=mood&subject=VEN-201", 'no source measures "mood" of the subject "VEN-201"'),
    ],
)
async def test_a_rejected_read_names_the_value(hub: ServiceHarness, path: str, detail: str) -> None:
    assert (await hub.get(path)).json()["detail"].startswith(detail)
