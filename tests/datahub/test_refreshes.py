"""Refresh jobs over HTTP and over simulated time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from companyos_datahub.main import SERVICE
from companyos_datahub.seed import Seed
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.wire.context import Actor
from tests.datahub.builders import a_document, a_seed, ids, problem


async def value_of(hub: ServiceHarness, metric_id: str) -> tuple[float, str]:
    row = (await hub.rows("metrics"))[metric_id]
    return row["value"], row["as_of"]


async def job(hub: ServiceHarness, job_id: str) -> dict[str, Any]:
    answer = await hub.get(f"/refresh-jobs/{job_id}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_refresh_is_queued_runs_and_succeeds(hub: ServiceHarness) -> None:
    response = await hub.post("/metrics/MET-3/refreshes")
    assert (response.status_code, response.json()["status"], response.json()["requested_by"]) == (
        201,
        "queued",
        "E-1010",
    )
    job_id = response.json()["id"]
    await hub.advance(minutes=1)
    assert (await job(hub, job_id))["status"] == "running"
    await hub.advance(minutes=18)
    assert (await job(hub, job_id))["status"] == "running"
    await hub.advance(minutes=1)
    ended = await job(hub, job_id)
    assert (ended["status"], ended["finished_at"], ended["error"]) == ("succeeded", "2026-03-02T09:20:00Z", None)
    assert await value_of(hub, "MET-3") == (91.0, "2026-03-02T09:20:00Z")


async def test_a_failed_refresh_changes_only_the_job(hub: ServiceHarness) -> None:
    before = await value_of(hub, "MET-1")
    job_id = (await hub.post("/metrics/MET-1/refreshes")).json()["id"]
    report = await hub.advance(minutes=20)
    assert {change.table for change in report.changes} == {"refresh_jobs"}
    ended = await job(hub, job_id)
    assert (ended["status"], ended["error"]) == ("failed", "The supplier portal did not answer.")
    assert await value_of(hub, "MET-1") == before


async def test_the_second_refresh_uses_the_second_plan(hub: ServiceHarness) -> None:
    await hub.post("/metrics/MET-1/refreshes")
    await hub.advance(minutes=20)
    await hub.post("/metrics/MET-1/refreshes")
    await hub.advance(minutes=20)
    assert await value_of(hub, "MET-1") == (84.0, "2026-03-02T09:40:00Z")
    history = (await hub.get("/metrics/MET-1/history")).json()["items"]
    assert history[0] == {"value": 82.0, "as_of": "2026-02-22T06:00:00Z"}


async def test_every_refresh_takes_the_minutes_that_its_source_states(hub: ServiceHarness) -> None:
    for metric_id, source_id in (("MET-1", "SRC-RISK"), ("MET-1", "SRC-RISK"), ("MET-5", "SRC-ERP")):
        minutes = (await hub.get(f"/sources/{source_id}")).json()["refresh_minutes"]
        job_id = (await hub.post(f"/metrics/{metric_id}/refreshes")).json()["id"]
        await hub.advance(minutes=minutes - 1)
        assert (await job(hub, job_id))["finished_at"] is None
        await hub.advance(minutes=1)
        assert (await job(hub, job_id))["finished_at"] is not None


def failed_source() -> Seed:
    sources = a_document()["sources"]
    failed = [source | {"pipeline_state": "failed"} if source["id"] == "SRC-RISK" else source for source in sources]
    return a_seed(sources=failed)


async def test_a_successful_refresh_makes_a_failed_pipeline_healthy() -> None:
    async with ServiceHarness(SERVICE, seed=failed_source()) as hub:
        await hub.post("/metrics/MET-1/refreshes")
        await hub.advance(minutes=20)
        assert (await hub.get("/sources/SRC-RISK")).json()["pipeline_state"] == "failed"
        await hub.post("/metrics/MET-1/refreshes")
        await hub.advance(minutes=20)
        assert (await hub.get("/sources/SRC-RISK")).json()["pipeline_state"] == "healthy"


async def test_a_successful_refresh_leaves_a_degraded_pipeline_degraded(hub: ServiceHarness) -> None:
    await hub.post("/metrics/MET-4/refreshes")
    await hub.advance(minutes=5)
    assert (await hub.get("/sources/SRC-OBS")).json()["pipeline_state"] == "degraded"


async def test_an_unplanned_refresh_of_a_failed_pipeline_fails() -> None:
    async with ServiceHarness(SERVICE, seed=failed_source()) as hub:
        job_id = (await hub.post("/metrics/MET-3/refreshes")).json()["id"]
        await hub.advance(minutes=20)
        ended = await job(hub, job_id)
        assert (ended["status"], ended["error"]) == ("failed", "The pipeline ended with an error.")
        assert (await hub.get("/sources/SRC-RISK")).json()["pipeline_state"] == "failed"


@pytest.mark.parametrize("late", [0, 600])
async def test_a_refresh_takes_effect_at_its_time_even_if_it_is_read_late(hub: ServiceHarness, late: int) -> None:
    await hub.post("/metrics/MET-4/refreshes")
    await hub.advance(minutes=5 + late)
    assert (await value_of(hub, "MET-4"))[1] == "2026-03-02T09:05:00Z"


async def test_the_changes_of_a_refresh_have_the_clock_as_actor_and_the_call_as_cause(hub: ServiceHarness) -> None:
    await hub.post("/metrics/MET-4/refreshes")
    report = await hub.advance(minutes=5)
    assert {(change.actor, change.cause) for change in report.changes} == {(Actor.CLOCK, "test:1:1")}


async def test_an_open_job_blocks_another_refresh(hub: ServiceHarness) -> None:
    await hub.post("/metrics/MET-1/refreshes")
    refused = await hub.post("/metrics/MET-1/refreshes")
    assert problem(refused) == (409, "refresh-running")
    assert "RJ-1" in refused.json()["detail"]
    await hub.advance(minutes=1)
    assert problem(await hub.post("/metrics/MET-1/refreshes")) == (409, "refresh-running")
    assert (await hub.post("/metrics/MET-2/refreshes")).status_code == 201


async def test_a_refresh_during_a_maintenance_window_is_rejected(hub: ServiceHarness) -> None:
    hub.now = datetime(2026, 3, 3, 20, 0, tzinfo=UTC)
    assert problem(await hub.post("/metrics/MET-5/refreshes")) == (409, "maintenance-window")
    assert len(await hub.rows("refresh_jobs")) == 0
    hub.now = datetime(2026, 3, 4, 4, 0, tzinfo=UTC)
    assert (await hub.post("/metrics/MET-5/refreshes")).status_code == 201


async def test_the_jobs_of_a_metric_are_listed_newest_first(hub: ServiceHarness) -> None:
    for metric_id, minutes in (("MET-1", 20), ("MET-3", 0), ("MET-1", 0)):
        assert (await hub.post(f"/metrics/{metric_id}/refreshes")).status_code == 201
        await hub.advance(minutes=minutes)
    assert ids(await hub.get("/refresh-jobs", params={"metric_id": "MET-1"})) == ["RJ-3", "RJ-1"]
    assert ids(await hub.get("/refresh-jobs")) == ["RJ-3", "RJ-2", "RJ-1"]
    listed = (await hub.get("/refresh-jobs", params={"limit": 1})).json()
    assert (listed["items"], listed["total"]) == ([await job(hub, "RJ-3")], 3)
    assert problem(await hub.get("/refresh-jobs", params={"metric_id": "MET-99"})) == (404, "metric-not-found")


async def test_unknown_metrics_and_jobs_are_not_found(hub: ServiceHarness) -> None:
    assert problem(await hub.post("/metrics/MET-99/refreshes")) == (404, "metric-not-found")
    assert problem(await hub.get("/refresh-jobs/RJ-99")) == (404, "refresh-job-not-found")


async def test_reading_a_job_does_not_change_it(hub: ServiceHarness) -> None:
    await hub.post("/metrics/MET-4/refreshes")
    hub.now = datetime(2026, 3, 2, 18, 0, tzinfo=UTC)
    before = await hub.digest()
    for _ in range(3):
        assert (await job(hub, "RJ-1"))["status"] == "queued"
    assert await hub.digest() == before


@pytest.mark.parametrize(("status", "requested", "ends"), [("queued", "08:50", "09:10"), ("running", "08:30", "09:00")])
async def test_a_job_of_the_seed_ends_too(status: str, requested: str, ends: str) -> None:
    open_job = {
        "id": "RJ-7",
        "metric_id": "MET-3",
        "n": 1,
        "status": status,
        "requested_at": f"2026-03-02T{requested}:00Z",
        "requested_by": "E-1005",
    }
    async with ServiceHarness(SERVICE, seed=a_seed(refresh_jobs=[open_job])) as hub:
        assert problem(await hub.post("/metrics/MET-3/refreshes")) == (409, "refresh-running")
        await hub.advance(minutes=30)
        ended = await job(hub, "RJ-7")
        assert (ended["status"], ended["finished_at"]) == ("succeeded", f"2026-03-02T{ends}:00Z")
        assert (await hub.post("/metrics/MET-3/refreshes")).json()["id"] == "RJ-8"


async def test_a_refresh_of_one_minute_never_shows_the_status_running() -> None:
    plans = [{"id": "RP-1", "metric_id": "MET-4", "n": 1, "outcome": "succeeded", "value": 0.9}]
    sources = [source | {"refresh_minutes": 1} for source in a_document()["sources"]]
    async with ServiceHarness(SERVICE, seed=a_seed(refresh_plans=plans, sources=sources)) as hub:
        await hub.post("/metrics/MET-4/refreshes")
        report = await hub.advance(minutes=1)
        assert [(change.after or {})["status"] for change in report.changes if change.table == "refresh_jobs"] == [
            "succeeded"
        ]
        assert await value_of(hub, "MET-4") == (0.9, "2026-03-02T09:01:00Z")
