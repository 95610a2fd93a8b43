"""Refresh jobs and their planned results."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from companyos_shared.choices import Choice


class RefreshStatus(Choice):
    """Status of a refresh job."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


OPEN_STATUSES = (RefreshStatus.QUEUED, RefreshStatus.RUNNING)


class RefreshOutcome(Choice):
    """Outcome of a refresh job."""

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
        """Return the job of a row."""
        values = dict(row._mapping)
        values["status"] = RefreshStatus(row.status)
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshPlan:
    """Result of a refresh: a value on success, an error on failure."""

    outcome: RefreshOutcome
    value: float | None = None
    error: str | None = None
