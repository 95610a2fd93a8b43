"""Routes of records. The search includes vendors."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from companyos_datahub.records import service
from companyos_datahub.records.model import FoundKind
from companyos_datahub.records.rules import (
    EndsBeforeStartError,
    NothingToUpdateError,
    RecordNotFoundError,
    UnknownFieldError,
    UnknownOwnerError,
    UnknownStateError,
    WrongFieldTypeError,
)
from companyos_datahub.records.schemas import Found, RecordDetail, RecordFilter, RecordUpdate
from companyos_shared.framework import (
    CallDep,
    IfMatch,
    InvalidCursorError,
    OperationRouter,
    Page,
    PageQuery,
    QueryBlankError,
    StaleVersionError,
    error_responses,
)

router = OperationRouter(tags=["records"])

RecordId = Annotated[str, Path(description="ID of the record.")]


@router.get(
    "/records",
    operation_id="search_records",
    responses=error_responses(QueryBlankError, UnknownStateError, InvalidCursorError),
)
async def search_records(
    page: PageQuery,
    call: CallDep,
    query: Annotated[
        str | None,
        Query(
            max_length=200,
            description="Words in ID, title or fields, or their beginnings; without it, all that match the filters.",
        ),
    ] = None,
    kind: Annotated[FoundKind | None, Query(description="Kind of record, or vendor.")] = None,
    state: Annotated[str | None, Query(description="State of a record, or status of a vendor.")] = None,
    vendor_id: Annotated[str | None, Query(description="ID of the vendor.")] = None,
    owner_id: Annotated[str | None, Query(description="ID of the owner, a person.")] = None,
) -> Page[Found]:
    """Find records and vendors by words and filters, best match first.

    A word matches whole words and their beginnings. Rows that contain more of the words come first, then rows that
    contain them in id or title. For a vendor, legal name, tax id, category and contact are searched as well.
    """
    filters = RecordFilter(query=query or None, kind=kind, state=state, vendor_id=vendor_id, owner_id=owner_id)
    return service.search_records(call, page, filters)


@router.get("/records/{record_id}", operation_id="get_record", responses=error_responses(RecordNotFoundError))
async def get_record(record_id: RecordId, call: CallDep) -> RecordDetail:
    """Show a record with all its fields and its version."""
    return service.get_record(call, record_id)


@router.patch(
    "/records/{record_id}",
    operation_id="update_record",
    responses=error_responses(
        RecordNotFoundError,
        StaleVersionError,
        UnknownStateError,
        UnknownFieldError,
        WrongFieldTypeError,
        EndsBeforeStartError,
        UnknownOwnerError,
        NothingToUpdateError,
    ),
)
async def update_record(
    record_id: RecordId, body: RecordUpdate, call: CallDep, if_match: IfMatch = None
) -> RecordDetail:
    """Change a record; omitted values stay unchanged."""
    return service.update_record(call, record_id, body, if_match=if_match)
