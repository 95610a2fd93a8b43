"""Metrics and sources over HTTP."""

from __future__ import annotations

from companyos_datahub.main import SERVICE
from companyos_shared.framework.testing import ServiceHarness
from tests.datahub.builders import a_seed, ids, problem

SCORE = {"key": "compliance_score", "subject": "VEN-201"}


async def test_each_source_has_a_separate_reading(hub: ServiceHarness) -> None:
    answer = (await hub.get("/readings", params=SCORE)).json()
    assert [(r["source_id"], r["value"], r["is_stale"]) for r in answer["readings"]] == [
        ("SRC-ERP", 79.0, False),
        ("SRC-RISK", 82.0, True),
    ]


async def test_readings_can_be_filtered_by_source(hub: ServiceHarness) -> None:
    answer = (await hub.get("/readings", params=SCORE | {"source_id": "SRC-RISK"})).json()
    assert [reading["metric_id"] for reading in answer["readings"]] == ["MET-1"]


async def test_a_reading_becomes_stale_as_time_passes(hub: ServiceHarness) -> None:
    error_rate = {"key": "error_rate", "subject": "checkout-api"}
    early = await hub.get("/readings", params=error_rate | {"source_id": "SRC-OBS"})
    assert early.json()["readings"][0]["is_stale"] is True
    score = {"key": "compliance_score", "subject": "VEN-202"}
    assert (await hub.get("/readings", params=score)).json()["readings"][0]["is_stale"] is False
    await hub.advance(minutes=21 * 60 + 1)
    assert (await hub.get("/readings", params=score)).json()["readings"][0]["is_stale"] is True


async def test_a_metric_without_a_source_is_not_found(hub: ServiceHarness) -> None:
    answer = await hub.get("/readings", params={"key": "mood", "subject": "VEN-201"})
    assert problem(answer) == (404, "metric-not-found")


async def test_metrics_are_listed_without_values_by_every_filter(hub: ServiceHarness) -> None:
    listed = await hub.get("/metrics", params={"subject": "VEN-201", "source_id": "SRC-RISK"})
    assert listed.json()["items"] == [
        {
            "id": "MET-1",
            "key": "compliance_score",
            "subject": "VEN-201",
            "title": "Compliance score of Nordwind Logistik",
            "source_id": "SRC-RISK",
        }
    ]
    assert ids(await hub.get("/metrics", params={"key": "error_rate"})) == ["MET-4"]


async def test_a_list_continues_at_its_cursor(hub: ServiceHarness) -> None:
    first = (await hub.get("/metrics", params={"limit": 3})).json()
    rest = await hub.get("/metrics", params={"cursor": first["next_cursor"]})
    assert [item["id"] for item in first["items"]] + ids(rest) == ["MET-1", "MET-2", "MET-3", "MET-4", "MET-5"]
    assert (first["total"], rest.json()["next_cursor"]) == (5, None)


async def test_the_history_contains_earlier_values_newest_first(hub: ServiceHarness) -> None:
    history = (await hub.get("/metrics/MET-1/history")).json()
    assert [value["value"] for value in history["items"]] == [85.0, 88.0]
    assert (await hub.get("/metrics/MET-3/history")).json()["items"] == []


async def test_the_history_of_an_unknown_metric_is_not_found(hub: ServiceHarness) -> None:
    assert problem(await hub.get("/metrics/MET-99/history")) == (404, "metric-not-found")


async def test_a_source_shows_its_freshness_sla_and_maintenance_window(hub: ServiceHarness) -> None:
    source = (await hub.get("/sources/SRC-ERP")).json()
    assert source["freshness_sla_minutes"] == 2880
    assert source["authoritative_for"] == ["days_to_expiry"]
    assert (source["maintenance_from"], source["maintenance_to"]) == ("2026-03-03T20:00:00Z", "2026-03-04T04:00:00Z")


async def test_sources_are_listed_with_their_pipelines_and_the_metrics_they_are_authoritative_for(
    hub: ServiceHarness,
) -> None:
    listed = (await hub.get("/sources")).json()["items"]
    assert [(row["id"], row["pipeline_state"], row["authoritative_for"]) for row in listed] == [
        ("SRC-ERP", "healthy", ["days_to_expiry"]),
        ("SRC-OBS", "degraded", ["error_rate"]),
        ("SRC-RISK", "healthy", ["compliance_score"]),
    ]


async def test_an_unknown_source_is_not_found(hub: ServiceHarness) -> None:
    assert problem(await hub.get("/sources/SRC-X")) == (404, "source-not-found")


async def test_scheduled_events_update_readings_and_pipeline_states() -> None:
    coming = [
        {"due_at": "2026-03-02T10:00:00Z", "kind": "reading", "data": {"metric_id": "MET-3", "value": 55}},
        {
            "due_at": "2026-03-02T10:05:00Z",
            "kind": "pipeline",
            "data": {"source_id": "SRC-RISK", "pipeline_state": "failed"},
        },
    ]
    async with ServiceHarness(SERVICE, seed=a_seed(scheduled_events=coming)) as hub:
        report = await hub.advance(minutes=90)
        assert {change.cause for change in report.changes} == {None}
        reading = (await hub.get("/readings", params={"key": "compliance_score", "subject": "VEN-202"})).json()[
            "readings"
        ][0]
        assert (reading["value"], reading["as_of"]) == (55.0, "2026-03-02T10:00:00Z")
        assert [value["value"] for value in (await hub.get("/metrics/MET-3/history")).json()["items"]] == [91.0]
        assert (await hub.get("/sources/SRC-RISK")).json()["pipeline_state"] == "failed"
