"""When a metric may be refreshed, and what comes of it."""

from __future__ import annotations

from datetime import datetime

from companyos_datahub.refreshes.model import OPEN_STATUSES, RefreshJob, RefreshOutcome, RefreshPlan
from companyos_datahub.sources.model import Source
from companyos_datahub.sources.rules import is_in_maintenance
from companyos_shared.chassis import Problem

QUEUE_MINUTES = 1
DEFAULT_ERROR = "The pipeline ended with an error."


class RefreshJobNotFound(Problem):
    status, code, title = 404, "refresh-job-not-found", "There is no such refresh job"


class RefreshRunning(Problem):
    status, code, title = 409, "refresh-running", "A refresh of the metric is under way"


class MaintenanceWindow(Problem):
    status, code, title = 409, "maintenance-window", "The source is in maintenance"


def check_may_refresh(source: Source, last_job: RefreshJob | None, *, now: datetime) -> None:
    """Raise RefreshRunning or MaintenanceWindow where the metric cannot be refreshed now."""
    if last_job is not None and last_job.status in OPEN_STATUSES:
        raise RefreshRunning(f"Job {last_job.id} of metric {last_job.metric_id} is {last_job.status}.")
    if is_in_maintenance(source, now):
        raise MaintenanceWindow(f"Source {source.id} is in maintenance until {source.maintenance_to:%Y-%m-%dT%H:%MZ}.")


def unplanned(source: Source) -> RefreshPlan:
    """Return what a refresh gives where nothing is planned: the present value, after the source's usual minutes."""
    return RefreshPlan(outcome=RefreshOutcome.SUCCEEDED, minutes=source.refresh_minutes)


def value_of(plan: RefreshPlan, present: float) -> float:
    """Return the value that a successful refresh brings: the planned one, else the present one again."""
    return present if plan.value is None else plan.value


def error_of(plan: RefreshPlan) -> str | None:
    """Return the error of a refresh that fails, None of one that succeeds."""
    if plan.outcome is RefreshOutcome.SUCCEEDED:
        return None
    return plan.error or DEFAULT_ERROR
