"""Refresh jobs and what comes of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from companyos_shared.choices import Choice


class RefreshStatus(Choice):
    """How far a refresh job is."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


OPEN_STATUSES = (RefreshStatus.QUEUED, RefreshStatus.RUNNING)


class RefreshOutcome(Choice):
    """How a refresh job ends."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshJob:
    """The n-th refresh of a metric."""

    id: str
    metric_id: str
    n: int
    status: RefreshStatus
    requested_at: datetime
    requested_by: str
    finished_at: datetime | None = None
    error: str | None = None

    @classmethod
    def from_row(cls, row: Row[Any]) -> RefreshJob:
        """Read a row of the table `refresh_jobs`."""
        values = dict(row._mapping)
        values["status"] = RefreshStatus(row.status)
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshPlan:
    """What a refresh takes and gives: a value where it succeeds, an error where it fails."""

    outcome: RefreshOutcome
    minutes: int
    value: float | None = None
    error: str | None = None

    @classmethod
    def from_row(cls, row: Row[Any]) -> RefreshPlan:
        """Read a row of the table `refresh_plans`."""
        return cls(outcome=RefreshOutcome(row.outcome), minutes=row.minutes, value=row.value, error=row.error)
