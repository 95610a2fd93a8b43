"""Vendors over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.wire.context import Fault, FaultKind
from tests.datahub.builders import problem

OTHER_IBAN = "DE02100500000054540402"


async def test_a_vendor_is_shown_with_certificates_and_bank_changes(hub: ServiceHarness) -> None:
    vendor = (await hub.get("/vendors/VEN-202")).json()
    assert [(each["kind"], each["is_expired"]) for each in vendor["certificates"]] == [("iso9001", True)]
    assert [(each["channel"], each["new_iban"]) for each in vendor["bank_changes"]] == [("email", vendor["bank_iban"])]


async def test_a_certificate_expires_as_time_passes(hub: ServiceHarness) -> None:
    assert (await hub.get("/vendors/VEN-201")).json()["certificates"][0]["is_expired"] is False
    hub.now = hub.now.replace(year=2027, month=5)
    assert (await hub.get("/vendors/VEN-201")).json()["certificates"][0]["is_expired"] is True


async def test_a_change_of_bank_details_is_stored(hub: ServiceHarness) -> None:
    before = (await hub.get("/vendors/VEN-201")).json()
    vendor = (await hub.patch("/vendors/VEN-201", json={"bank_iban": OTHER_IBAN})).json()
    assert (vendor["bank_iban"], vendor["version"]) == (OTHER_IBAN, 2)
    assert vendor["bank_changes"] == [
        {
            "id": "BC-2",
            "changed_at": "2026-03-02T09:00:00Z",
            "old_iban": before["bank_iban"],
            "new_iban": OTHER_IBAN,
            "requested_by": "E-1010",
            "channel": "datahub",
        }
    ]


async def test_edits_on_a_page_are_delayed_like_the_values(hub: ServiceHarness) -> None:
    await hub.patch("/vendors/VEN-202", json={"notes": "Paid in advance"})
    await hub.patch("/vendors/VEN-202", json={"notes": "Paid monthly"})
    lag = Fault(kind=FaultKind.STALE_READ, hides_from_step=hub.step)
    lagging = (await hub.get("/pages/vendors/VEN-202", fault=lag)).text
    assert "Paid in advance" in lagging
    assert "Paid monthly" not in lagging
    assert "Paid monthly" in (await hub.get("/pages/vendors/VEN-202")).text


async def test_other_changes_do_not_affect_the_bank_history(hub: ServiceHarness) -> None:
    before = (await hub.get("/vendors/VEN-201")).json()
    change = {"status": "active", "risk_tier": "low", "notes": "Checked.", "bank_iban": before["bank_iban"]}
    assert (await hub.patch("/vendors/VEN-201", json=change)).json() == before | change | {"version": 2}


async def test_a_change_to_equal_values_changes_nothing(hub: ServiceHarness) -> None:
    new = {"kind": "iso9001", "issued_on": "2026-02-20", "expires_on": "2027-02-19"}
    filed = (await hub.patch("/vendors/VEN-202", json={"certificate": new})).json()
    assert filed["version"] == 2
    equal = {"certificate": new, "name": filed["name"], "bank_iban": filed["bank_iban"]}
    assert (await hub.patch("/vendors/VEN-202", json=equal)).json() == filed
    assert hub.last_report.changes == []


async def test_a_certificate_can_be_filed_once(hub: ServiceHarness) -> None:
    new = {"kind": "iso9001", "issued_on": "2026-02-20", "expires_on": "2027-02-19"}
    before = (await hub.get("/vendors/VEN-202")).json()["certificates"]
    for _ in range(2):
        filed = (await hub.patch("/vendors/VEN-202", json={"certificate": new})).json()
    added = [each for each in filed["certificates"] if each not in before]
    assert added == [{"id": "CRT-3", **new, "is_expired": False}]
    assert len(filed["certificates"]) == len(before) + 1
    assert filed["bank_changes"] == (await hub.get("/vendors/VEN-202")).json()["bank_changes"]


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({}, (422, "nothing-to-update")),
        ({"status": "prospect"}, (409, "vendor-status-not-allowed")),
        ({"status": "gone"}, (422, "invalid-arguments")),
        ({"bank_iban": "DE02 1005"}, (422, "invalid-arguments")),
        ({"contact_email": "jana"}, (422, "invalid-arguments")),
        ({"tax_id": "DE1"}, (422, "invalid-arguments")),
        ({"certificate": {"kind": "iso9001", "issued_on": "2026-02-20"}}, (422, "invalid-arguments")),
        (
            {"certificate": {"kind": "iso9001", "issued_on": "2026-02-20", "expires_on": "2026-02-19"}},
            (422, "certificate-period"),
        ),
    ],
)
async def test_an_invalid_change_is_rejected(
    hub: ServiceHarness, change: dict[str, Any], refusal: tuple[int, str]
) -> None:
    before = await hub.digest()
    assert problem(await hub.patch("/vendors/VEN-202", json=change)) == refusal
    assert await hub.digest() == before


async def test_a_change_with_a_stale_version_is_rejected(hub: ServiceHarness) -> None:
    stale = await hub.patch("/vendors/VEN-202", json={"notes": "x"}, headers={"If-Match": "2"})
    assert problem(stale) == (412, "stale-version")


async def test_an_unknown_vendor_is_not_found(hub: ServiceHarness) -> None:
    assert problem(await hub.get("/vendors/VEN-9")) == (404, "vendor-not-found")
    assert problem(await hub.patch("/vendors/VEN-9", json={"notes": "x"})) == (404, "vendor-not-found")
