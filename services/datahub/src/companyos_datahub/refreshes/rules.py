"""Rules of refreshes."""

from __future__ import annotations

from datetime import datetime

from companyos_datahub.refreshes.model import OPEN_STATUSES, RefreshJob, RefreshOutcome, RefreshPlan
from companyos_datahub.sources.rules import is_in_maintenance
from companyos_datahub.sources.schemas import PipelineState, SourceDetail
from companyos_shared.framework import ServiceError

QUEUE_MINUTES = 1
DEFAULT_ERROR = "The pipeline ended with an error."


class RefreshJobNotFoundError(ServiceError):
    status, code, title = 404, "refresh-job-not-found", "Refresh job not found"


class RefreshRunningError(ServiceError):
    status, code, title = 409, "refresh-running", "Refresh already running"


class MaintenanceWindowError(ServiceError):
    status, code, title = 409, "maintenance-window", "Source in maintenance"


def check_may_refresh(source: SourceDetail, last_job: RefreshJob | None, *, now: datetime) -> None:
    """Raise RefreshRunningError or MaintenanceWindowError (409) if the metric cannot be refreshed now."""
    if last_job is not None and last_job.status in OPEN_STATUSES:
        raise RefreshRunningError(f"refresh job {last_job.id} of {last_job.metric_id} is {last_job.status}")
    if is_in_maintenance(source, now):
        raise MaintenanceWindowError(
            f"source {source.id} is in maintenance until {source.maintenance_to:%Y-%m-%dT%H:%MZ}"
        )


def unplanned(source: SourceDetail) -> RefreshPlan:
    """Return the default plan: the current value again, or an error if the source's pipeline has failed."""
    has_failed = source.pipeline_state is PipelineState.FAILED
    return RefreshPlan(outcome=RefreshOutcome.FAILED if has_failed else RefreshOutcome.SUCCEEDED)


def value_of(plan: RefreshPlan, present: float) -> float:
    """Return the value of a successful refresh: the planned value, or else the current one."""
    return present if plan.value is None else plan.value


def error_of(plan: RefreshPlan) -> str | None:
    """Return the error of a failed refresh, or None for a successful one."""
    if plan.outcome is RefreshOutcome.SUCCEEDED:
        return None
    return plan.error or DEFAULT_ERROR
