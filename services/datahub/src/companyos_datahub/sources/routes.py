"""Routes of sources."""

from __future__ import annotations

from fastapi import APIRouter

from companyos_datahub.sources import service
from companyos_datahub.sources.rules import SourceNotFound
from companyos_datahub.sources.schemas import SourceDetail, SourceRow
from companyos_shared.chassis import CallDep, Page, PageQuery, problems

router = APIRouter(tags=["sources"])


@router.get("/sources", operation_id="list_sources")
async def list_sources(page: PageQuery, call: CallDep) -> Page[SourceRow]:
    """List the sources that deliver metrics."""
    return service.list_sources(call, page)


@router.get("/sources/{source_id}", operation_id="get_source", responses=problems(SourceNotFound))
async def get_source(source_id: str, call: CallDep) -> SourceDetail:
    """Show a source: freshness SLA, pipeline, maintenance, authority.

    The maintenance window is [maintenance_from, maintenance_to).
    """
    return service.get_source(call, source_id)
