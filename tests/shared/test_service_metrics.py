"""`/-/metrics` of a service reports its resources; latencies are counted in buckets."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.telemetry.histogram import BUCKET_BOUNDS_S, LatencyHistogram

Figures = dict[tuple[str, ...], float]


async def _figures(library: ServiceHarness) -> Figures:
    answer = await library.client.get("/-/metrics")
    assert answer.status_code == 200
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


async def test_a_service_reports_its_stored_objects_without_a_signature(library: ServiceHarness) -> None:
    await library.post("/books", json={"title": "Emma"})
    await library.snapshot()
    found = await _figures(library)
    assert found["companyos_service_stored_items", "episodes"] == found["companyos_service_databases_open",] == 1
    assert (
        found["companyos_service_stored_items", "templates"]
        == found["companyos_service_stored_items", "snapshots"]
        == 1
    )
    assert found["companyos_service_info", library.service.name, library.service.version] == 1
    assert found["process_open_fds",] > 0


async def test_dropped_episodes_are_removed_from_the_metrics(library: ServiceHarness) -> None:
    await library.post("/books", json={"title": "Emma"})
    await library.drop()
    found = await _figures(library)
    assert found["companyos_service_stored_items", "episodes"] == found["companyos_service_databases_open",] == 0


def test_a_duration_is_counted_in_the_first_bucket_that_contains_it() -> None:
    latency = LatencyHistogram()
    for duration_s in (0.0001, BUCKET_BOUNDS_S[0], 0.003, 60.0):
        latency.observe(duration_s)
    buckets = dict(latency.buckets())
    assert buckets[str(BUCKET_BOUNDS_S[0])] == 2
    assert (buckets["0.002"], buckets["0.005"], buckets["5.0"]) == (2, 3, 3)
    assert buckets["+Inf"] == 4
    assert latency.total_s == pytest.approx(60.0036)
