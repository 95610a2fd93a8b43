"""Records over HTTP, and the search, which also finds vendors."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_datahub.main import SERVICE
from companyos_shared.framework.testing import ServiceHarness
from tests.datahub.builders import a_seed, ids, problem


async def test_the_best_match_is_listed_first(hub: ServiceHarness) -> None:
    assert ids(await hub.get("/records", params={"query": "Bluepeak Optics"})) == ["VEN-202", "VEN-203"]
    assert ids(await hub.get("/records", params={"query": "bluepeak office"})) == ["VEN-203", "VEN-202"]


async def test_vendors_are_found_by_tax_id(hub: ServiceHarness) -> None:
    assert ids(await hub.get("/records", params={"query": "DE299876543"})) == ["VEN-202"]


async def test_records_are_found_by_the_values_of_their_fields(hub: ServiceHarness) -> None:
    assert ids(await hub.get("/records", params={"query": "PO-3311"})) == ["PO-3311", "GR-908", "INV-6620"]


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"kind": "vendor"}, ["VEN-201", "VEN-202", "VEN-203"]),
        ({"kind": "invoice"}, ["INV-6620"]),
        ({"state": "received"}, ["INV-6620", "PO-3311"]),
        ({"state": "received", "kind": "invoice"}, ["INV-6620"]),
        ({"vendor_id": "VEN-201"}, ["CON-41", "VEN-201"]),
        ({"vendor_id": "VEN-201", "query": "freight"}, ["CON-41"]),
        ({"owner_id": "E-1001"}, []),
        ({"query": "zeppelin"}, []),
        ({"query": "ffice"}, []),
        ({"query": "none"}, []),
        ({"query": "bluepeak off"}, ["VEN-203", "VEN-202"]),
    ],
)
async def test_a_search_respects_its_filters(hub: ServiceHarness, filters: dict[str, str], expected: list[str]) -> None:
    assert ids(await hub.get("/records", params=filters)) == expected


async def test_a_record_is_listed_with_amount_and_period(hub: ServiceHarness) -> None:
    columns = ("id", "amount_cents", "currency", "starts_on", "ends_on")
    listed = (await hub.get("/records", params={"query": "PO-3311 LIC-77 VEN-203"})).json()["items"]
    found = {tuple(row[name] for name in columns) for row in listed if row["id"] in {"PO-3311", "LIC-77", "VEN-203"}}
    assert found == {
        ("PO-3311", 5_200_000, "EUR", None, None),
        ("LIC-77", None, None, None, "2026-03-29"),
        ("VEN-203", None, None, None, None),
    }


async def test_a_ranked_search_continues_at_its_cursor(hub: ServiceHarness) -> None:
    whole = ids(await hub.get("/records", params={"query": "lenses VEN-202"}))
    found, cursor = [], None
    while True:
        page = await hub.get(
            "/records", params={"query": "lenses VEN-202", "limit": 2} | ({"cursor": cursor} if cursor else {})
        )
        found += ids(page)
        cursor = page.json()["next_cursor"]
        if cursor is None:
            break
    assert found == whole
    assert len(whole) > 2


async def test_a_record_is_shown_with_its_fields(hub: ServiceHarness) -> None:
    record = (await hub.get("/records/PO-3311")).json()
    assert (record["amount_cents"], record["currency"], record["fields"]) == (5_200_000, "EUR", {"quantity": 40})


async def test_an_update_changes_only_the_named_fields(hub: ServiceHarness) -> None:
    before = (await hub.get("/records/LIC-77")).json()
    await hub.advance(minutes=5)
    change: dict[str, Any] = {"state": "renewed", "ends_on": "2027-03-29", "fields": {"term_months": 12}}
    answer = await hub.patch("/records/LIC-77", json=change)
    assert answer.json() == before | change | {
        "fields": {"seats": 40, "term_months": 12},
        "version": 2,
        "updated_at": "2026-03-02T09:05:00Z",
    }
    assert (await hub.get("/records/LIC-77")).json() == answer.json()
    assert {(each.table, each.key) for each in (await hub.evidence()).changes} == {("records", "LIC-77")}


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({}, (422, "nothing-to-update")),
        ({"fields": {}}, (422, "nothing-to-update")),
        ({"state": None}, (422, "nothing-to-update")),
        ({"state": "paid"}, (422, "unknown-state")),
        ({"fields": {"colour": "red"}}, (422, "unknown-field")),
        ({"fields": {"seats": "forty"}}, (422, "wrong-field-type")),
        ({"fields": {"seats": None}}, (422, "wrong-field-type")),
        ({"owner_id": "E-1009"}, (422, "unknown-owner")),
        ({"owner_id": "nobody"}, (422, "unknown-owner")),
        ({"starts_on": "2026-03-30"}, (422, "ends-before-start")),
        ({"ends_on": "soon"}, (422, "invalid-arguments")),
        ({"amount_cents": -1}, (422, "invalid-arguments")),
        ({"amount_cents": True}, (422, "invalid-arguments")),
        ({"amount_cents": "1_000"}, (422, "invalid-arguments")),
        ({"id": "LIC-78"}, (422, "invalid-arguments")),
    ],
)
async def test_an_invalid_update_is_rejected(
    hub: ServiceHarness, change: dict[str, Any], refusal: tuple[int, str]
) -> None:
    before = await hub.digest()
    assert problem(await hub.patch("/records/LIC-77", json=change)) == refusal
    assert await hub.digest() == before


async def test_an_update_with_equal_values_changes_nothing(hub: ServiceHarness) -> None:
    before = (await hub.get("/records/LIC-77")).json()
    await hub.advance(minutes=5)
    equal = {name: before[name] for name in ("title", "state", "ends_on", "fields")}
    assert (await hub.patch("/records/LIC-77", json=equal)).json() == before
    assert hub.last_report.changes == []


async def test_an_update_with_a_stale_version_is_rejected(hub: ServiceHarness) -> None:
    assert (
        await hub.patch("/records/LIC-77", json={"state": "expiring"}, headers={"If-Match": "1"})
    ).status_code == 200
    stale = await hub.patch("/records/LIC-77", json={"state": "renewed"}, headers={"If-Match": '"1"'})
    assert problem(stale) == (412, "stale-version")


async def test_an_unknown_record_is_not_found(hub: ServiceHarness) -> None:
    assert problem(await hub.get("/records/LIC-99")) == (404, "record-not-found")
    assert problem(await hub.patch("/records/LIC-99", json={"state": "active"})) == (404, "record-not-found")


async def test_a_colleague_changes_a_record_at_the_scheduled_time() -> None:
    data = {"record_id": "INV-6620", "state": "on_hold", "fields": {"hold_reason": "two lenses short"}}
    coming = [{"due_at": "2026-03-02T10:00:00Z", "kind": "record", "data": data}]
    async with ServiceHarness(SERVICE, seed=a_seed(scheduled_events=coming)) as hub:
        await hub.advance(minutes=60)
        record = (await hub.get("/records/INV-6620")).json()
        assert (record["state"], record["version"], record["fields"]["hold_reason"]) == (
            "on_hold",
            2,
            "two lenses short",
        )
