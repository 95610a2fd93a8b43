"""Validation and insertion of the DataHub seed document."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from companyos_datahub import tables
from companyos_datahub.main import SERVICE
from companyos_datahub.seed import Seed
from companyos_shared.framework.testing import ServiceHarness
from tests.datahub.builders import a_document, a_seed


def first_of(table: str, **changes: Any) -> dict[str, Any]:
    """Return a seed document with a changed first row of the table."""
    document = a_document()
    document[table][0] |= changes
    return document


async def test_every_row_of_the_seed_is_loaded_unchanged(hub: ServiceHarness) -> None:
    initial = (await hub.evidence()).initial
    document = a_document()
    assert set(initial) == set(tables.metadata.tables)
    for name in tables.metadata.tables:
        assert initial[name] == {row["id"]: row for row in document[name]}, name


@pytest.mark.parametrize(
    ("document", "place"),
    [
        (first_of("sources", owner_id="E-1"), "sources.owner_id of SRC-RISK: unknown id E-1"),
        (first_of("metrics", source_id="SRC-1"), "metrics.source_id of MET-1: unknown id SRC-1"),
        (first_of("metric_values", metric_id="MET-9"), "metric_values.metric_id of MV-1: unknown id MET-9"),
        (first_of("refresh_plans", metric_id="MET-9"), "refresh_plans.metric_id of RP-1: unknown id MET-9"),
        (first_of("bank_changes", vendor_id="VEN-9"), "bank_changes.vendor_id of BC-1: unknown id VEN-9"),
        (first_of("certificates", vendor_id="VEN-9"), "certificates.vendor_id of CRT-1: unknown id VEN-9"),
        (first_of("records", vendor_id="VEN-9"), "records.vendor_id of CON-41: unknown id VEN-9"),
        (first_of("records", owner_id="E-1"), "records.owner_id of CON-41: unknown id E-1"),
        (first_of("records", state="sold"), "records CON-41: state must be one of"),
        (first_of("records", fields={"notice_days": "90"}), "records CON-41: fields.notice_days must be of type"),
        (
            first_of("records", starts_on="2026-02-01", ends_on="2026-01-01"),
            "records CON-41: ends_on must not",
        ),
        (first_of("records", id="LIC-77"), "records: LIC-77 occurs 2 times"),
        (first_of("metrics", source_id="SRC-ERP"), "metrics by key, subject and source"),
        (first_of("refresh_plans", n=2), "refresh_plans by metric and n"),
        (first_of("policies", version=2), "policies by id and version"),
        (
            first_of("sources", maintenance_from="2026-03-02T10:00:00Z"),
            "sources SRC-RISK: maintenance_from",
        ),
    ],
)
def test_an_inconsistent_seed_is_rejected(document: dict[str, Any], place: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Seed.model_validate(document)
    assert place in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("reading", {"metric_id": "MET-9", "value": 1}),
        ("pipeline", {"source_id": "SRC-9", "pipeline_state": "failed"}),
        ("record", {"record_id": "CON-9", "state": "active"}),
    ],
)
def test_an_event_must_name_an_existing_object(kind: str, data: dict[str, Any]) -> None:
    event = {"due_at": "2026-03-02T10:00:00Z", "kind": kind, "data": data}
    with pytest.raises(ValidationError, match=f"scheduled_events.data of {kind} at 2026-03-02T10:00Z"):
        Seed.model_validate(a_document(scheduled_events=[event]))


@pytest.mark.parametrize(
    ("kind", "data", "reason"),
    [
        ("reading", {"metric_id": "MET-1"}, "value"),
        ("reading", {"metric_id": "MET-1", "value": "nan"}, "finite"),
        ("pipeline", {"source_id": "SRC-RISK", "pipeline_state": "broken"}, "pipeline_state"),
        ("record", {"state": "active"}, "record_id"),
        ("record", {"record_id": "CON-41", "colour": "red"}, "colour"),
        ("record", {"record_id": "CON-41", "state": "sold"}, "state must be one of"),
        ("record", {"record_id": "CON-41", "fields": {"notice_days": "90"}}, "fields.notice_days must be of type"),
    ],
)
def test_an_event_that_cannot_be_applied_is_rejected(kind: str, data: dict[str, Any], reason: str) -> None:
    event = {"due_at": "2026-03-02T10:00:00Z", "kind": kind, "data": data}
    with pytest.raises(ValidationError, match=reason):
        Seed.model_validate(a_document(scheduled_events=[event]))


@pytest.mark.parametrize(("status", "finished_at"), [("queued", "2026-03-01T10:00:00Z"), ("succeeded", None)])
def test_a_job_is_finished_or_open(status: str, finished_at: str | None) -> None:
    job = {
        "id": "RJ-1",
        "metric_id": "MET-1",
        "n": 1,
        "status": status,
        "requested_at": "2026-03-01T09:00:00Z",
        "requested_by": "E-1005",
        "finished_at": finished_at,
    }
    with pytest.raises(ValidationError, match="refresh_jobs RJ-1"):
        Seed.model_validate(a_document(refresh_jobs=[job]))


async def test_ids_of_new_rows_continue_after_the_seed() -> None:
    issue = {
        "id": "DI-41",
        "subject": "MET-1",
        "kind": "wrong",
        "description": "Too high.",
        "reported_by": "E-1005",
        "reported_at": "2026-02-01T09:00:00Z",
    }
    async with ServiceHarness(SERVICE, seed=a_seed(data_issues=[issue])) as hub:
        report = {"subject": "MET-1", "kind": "stale", "description": "Still."}
        assert (await hub.post("/data-issues", json=report)).json()["id"] == "DI-42"
