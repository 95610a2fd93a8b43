"""Service functions of refreshes, and their scheduled transitions: queued, running, succeeded or failed."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from sqlalchemy import insert, select, update

from companyos_datahub.metrics.service import load_metric, replace_value
from companyos_datahub.refreshes.model import RefreshJob, RefreshOutcome, RefreshPlan, RefreshStatus
from companyos_datahub.refreshes.rules import (
    QUEUE_MINUTES,
    RefreshJobNotFoundError,
    check_may_refresh,
    error_of,
    unplanned,
    value_of,
)
from companyos_datahub.refreshes.schemas import RefreshJobDetail
from companyos_datahub.sources.schemas import SourceDetail
from companyos_datahub.sources.service import get_source, mark_recovered
from companyos_datahub.tables import refresh_jobs, refresh_plans
from companyos_shared.framework import Call, Page, PageParams, paginate

START = "start_refresh"
FINISH = "finish_refresh"


def refresh_metric(call: Call, metric_id: str) -> RefreshJobDetail:
    """Queue the next refresh of a metric."""
    metric = load_metric(call, metric_id)
    last_job = _last_job(call, metric_id)
    check_may_refresh(get_source(call, metric.source_id), last_job, now=call.now)
    job = RefreshJob(
        id=f"RJ-{call.next_number('refresh_jobs')}",
        metric_id=metric_id,
        n=1 if last_job is None else last_job.n + 1,
        status=RefreshStatus.QUEUED,
        requested_at=call.now,
        requested_by=call.person,
    )
    call.db.execute(insert(refresh_jobs), asdict(job))
    schedule_job(call, job)
    return RefreshJobDetail.model_validate(job)


def get_refresh_job(call: Call, job_id: str) -> RefreshJobDetail:
    """Return a refresh job."""
    return RefreshJobDetail.model_validate(_load_job(call, job_id))


def list_refresh_jobs(call: Call, page: PageParams, *, metric_id: str | None) -> Page[RefreshJobDetail]:
    """Return the refresh jobs of all metrics or of one, newest first."""
    statement = select(refresh_jobs)
    if metric_id is not None:
        statement = statement.where(refresh_jobs.c.metric_id == load_metric(call, metric_id).id)
    newest = [refresh_jobs.c.requested_at, refresh_jobs.c.id]
    return paginate(call, statement, page, order_by=newest, build=RefreshJobDetail.model_validate, descending=True)


def schedule_job(call: Call, job: RefreshJob) -> None:
    """Schedule the start and the end of an open job."""
    finish_at = job.requested_at + timedelta(minutes=_source_of(call, job).refresh_minutes)
    start_at = job.requested_at + timedelta(minutes=QUEUE_MINUTES)
    if job.status is RefreshStatus.QUEUED and start_at < finish_at:
        call.schedule(max(start_at, call.now), START, {"job_id": job.id})
    call.schedule(max(finish_at, call.now), FINISH, {"job_id": job.id})


def apply_start(call: Call, payload: dict[str, Any]) -> None:
    """Start a queued job: {job_id}."""
    _set(call, payload["job_id"], status=RefreshStatus.RUNNING.value)


def apply_finish(call: Call, payload: dict[str, Any]) -> None:
    """Finish a job as planned; success updates the metric and makes a failed pipeline healthy: {job_id}."""
    job = _load_job(call, payload["job_id"])
    plan = _plan_of(call, job)
    if plan.outcome is RefreshOutcome.SUCCEEDED:
        metric = load_metric(call, job.metric_id)
        replace_value(call, metric, value_of(plan, metric.value), as_of=call.now)
        mark_recovered(call, metric.source_id)
    _set(call, job.id, status=plan.outcome.value, finished_at=call.now, error=error_of(plan))


def _set(call: Call, job_id: str, **values: Any) -> None:
    call.db.execute(update(refresh_jobs).where(refresh_jobs.c.id == job_id).values(**values))


def _load_job(call: Call, job_id: str) -> RefreshJob:
    row = call.db.execute(select(refresh_jobs).where(refresh_jobs.c.id == job_id)).one_or_none()
    if row is None:
        raise RefreshJobNotFoundError(f'no refresh job has the id "{job_id}"')
    return RefreshJob.from_row(row)


def _last_job(call: Call, metric_id: str) -> RefreshJob | None:
    jobs = select(refresh_jobs).where(refresh_jobs.c.metric_id == metric_id)
    row = call.db.execute(jobs.order_by(refresh_jobs.c.n.desc()).limit(1)).one_or_none()
    return None if row is None else RefreshJob.from_row(row)


def _plan_of(call: Call, job: RefreshJob) -> RefreshPlan:
    conditions = (refresh_plans.c.metric_id == job.metric_id, refresh_plans.c.n == job.n)
    row = call.db.execute(select(refresh_plans).where(*conditions)).one_or_none()
    if row is None:
        return unplanned(_source_of(call, job))
    return RefreshPlan(outcome=RefreshOutcome(row.outcome), value=row.value, error=row.error)


def _source_of(call: Call, job: RefreshJob) -> SourceDetail:
    return get_source(call, load_metric(call, job.metric_id).source_id)
