"""The histogram of latencies."""

from __future__ import annotations

import pytest

from companyos_shared.telemetry.figures import BOUNDS_S, Latency


def test_a_time_falls_into_the_first_bucket_that_holds_it() -> None:
    latency = Latency()
    for took_s in (0.0001, BOUNDS_S[0], 0.003, 60.0):
        latency.observe(took_s)
    buckets = dict(latency.buckets())
    assert buckets[str(BOUNDS_S[0])] == 2
    assert (buckets["0.002"], buckets["0.005"], buckets["5.0"]) == (2, 3, 3)
    assert buckets["+Inf"] == latency.count == 4
    assert latency.total_s == pytest.approx(60.0036)
