"""Service functions of sources, and scheduled changes of their pipelines."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select, update

from companyos_datahub.sources.rules import SourceNotFoundError
from companyos_datahub.sources.schemas import PipelineState, SourceDetail, SourceRow
from companyos_datahub.tables import sources
from companyos_shared.framework import Call, Page, PageParams, paginate


def list_sources(call: Call, page: PageParams) -> Page[SourceRow]:
    """Return the sources, by id."""
    return paginate(call, select(sources), page, order_by=[sources.c.id], build=SourceRow.model_validate)


def get_source(call: Call, source_id: str) -> SourceDetail:
    """Return a source; raises SourceNotFoundError (404)."""
    row = call.db.execute(select(sources).where(sources.c.id == source_id)).one_or_none()
    if row is None:
        raise SourceNotFoundError(f'no source has the id "{source_id}"')
    return SourceDetail.model_validate(row)


def mark_recovered(call: Call, source_id: str) -> None:
    """Set a failed pipeline to healthy after a successful refresh."""
    failed = (sources.c.id == source_id, sources.c.pipeline_state == PipelineState.FAILED.value)
    call.db.execute(update(sources).where(*failed).values(pipeline_state=PipelineState.HEALTHY.value))


def apply_pipeline_state(call: Call, payload: dict[str, Any]) -> None:
    """Set the pipeline state of a source: {source_id, pipeline_state}."""
    state = PipelineState(payload["pipeline_state"])
    call.db.execute(update(sources).where(sources.c.id == payload["source_id"]).values(pipeline_state=state.value))
