"""A low-overhead latency histogram."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

BUCKET_BOUNDS_S = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Upper bounds of the buckets in seconds; the last bucket is unbounded."""


class LatencyHistogram:
    """A histogram of durations."""

    __slots__ = ("_counts", "total_s")

    def __init__(self) -> None:
        self._counts = [0] * (len(BUCKET_BOUNDS_S) + 1)
        self.total_s = 0.0

    def observe(self, duration_s: float) -> None:
        """Record a duration in seconds."""
        self._counts[bisect_left(BUCKET_BOUNDS_S, duration_s)] += 1
        self.total_s += duration_s

    def buckets(self) -> list[tuple[str, float]]:
        """Return the cumulative counts by upper bound, in Prometheus notation."""
        bounds = [*map(str, BUCKET_BOUNDS_S), "+Inf"]
        return list(zip(bounds, map(float, accumulate(self._counts)), strict=True))
