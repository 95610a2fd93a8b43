"""Pages of sources and refresh jobs."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_datahub.metrics.service import list_metrics, load_metric
from companyos_datahub.pages.app import PAGES, readings_of, sources_of
from companyos_datahub.refreshes.service import get_refresh_job, list_refresh_jobs
from companyos_datahub.sources import service
from companyos_shared.framework import PageCursor, PageView, page_params


@PAGES.page("/sources")
def show_sources(view: PageView, cursor: PageCursor = None) -> HTMLResponse:
    """Show the sources with their SLAs."""
    call = view.call
    found = service.list_sources(call, page_params(cursor))
    details = [service.get_source(call, row.id) for row in found.items]
    return view.page("sources.html", found=found, details=details, cursor=cursor)


@PAGES.page("/sources/{source_id}")
def show_source(view: PageView, source_id: str, cursor: PageCursor = None) -> HTMLResponse:
    """Show a source and its metrics."""
    call = view.call
    source = service.get_source(call, source_id)
    found = list_metrics(call, page_params(cursor), key=None, subject=None, source_id=source_id)
    readings = readings_of(call, found.items)
    origins = sources_of(call, found.items)
    return view.page("source.html", source=source, found=found, readings=readings, origins=origins, cursor=cursor)


@PAGES.page("/refreshes")
def show_refreshes(view: PageView, cursor: PageCursor = None) -> HTMLResponse:
    """Show the refresh jobs, newest first."""
    found = list_refresh_jobs(view.call, page_params(cursor), metric_id=None)
    titles = {job.metric_id: load_metric(view.call, job.metric_id).title for job in found.items}
    return view.page("refreshes.html", found=found, titles=titles, cursor=cursor)


@PAGES.page("/refreshes/{job_id}")
def show_refresh(view: PageView, job_id: str) -> HTMLResponse:
    """Show a refresh job."""
    job = get_refresh_job(view.call, job_id)
    return view.page("refresh.html", job=job, metric=load_metric(view.call, job.metric_id))
