"""When a value is stale, and what is refused about metrics."""

from __future__ import annotations

from datetime import datetime, timedelta

from companyos_shared.chassis import Problem


class MetricNotFound(Problem):
    status, code, title = 404, "metric-not-found", "There is no such metric"


def is_stale(as_of: datetime, freshness_sla_minutes: int, now: datetime) -> bool:
    """Say whether a value is older than its source promises; a value of exactly that age is fresh."""
    return now - as_of > timedelta(minutes=freshness_sla_minutes)
