"""Routes of sources."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

from companyos_datahub.sources import service
from companyos_datahub.sources.rules import SourceNotFoundError
from companyos_datahub.sources.schemas import SourceDetail, SourceRow
from companyos_shared.framework import CallDep, InvalidCursorError, OperationRouter, Page, PageQuery, error_responses

router = OperationRouter(tags=["sources"])


@router.get("/sources", operation_id="list_sources", responses=error_responses(InvalidCursorError))
async def list_sources(page: PageQuery, call: CallDep) -> Page[SourceRow]:
    """List the sources of metrics, with pipeline state and what they are authoritative for."""
    return service.list_sources(call, page)


@router.get("/sources/{source_id}", operation_id="get_source", responses=error_responses(SourceNotFoundError))
async def get_source(source_id: Annotated[str, Path(description="ID of the source.")], call: CallDep) -> SourceDetail:
    """Show a source: freshness SLA, refresh time, maintenance window, pipeline state and authoritative metrics.

    A refresh is rejected from `maintenance_from` until just before `maintenance_to`.
    """
    return service.get_source(call, source_id)
