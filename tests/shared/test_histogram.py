"""The histogram of latencies."""

from __future__ import annotations

import pytest

from companyos_shared.telemetry.histogram import BUCKET_BOUNDS_S, LatencyHistogram


def test_a_duration_is_counted_in_the_first_bucket_that_contains_it() -> None:
    latency = LatencyHistogram()
    for duration_s in (0.0001, BUCKET_BOUNDS_S[0], 0.003, 60.0):
        latency.observe(duration_s)
    buckets = dict(latency.buckets())
    assert buckets[str(BUCKET_BOUNDS_S[0])] == 2
    assert (buckets["0.002"], buckets["0.005"], buckets["5.0"]) == (2, 3, 3)
    assert buckets["+Inf"] == 4
    assert latency.total_s == pytest.approx(60.0036)
