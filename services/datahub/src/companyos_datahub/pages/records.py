"""Pages of records: a filtered list, and a record with its fields and the form to edit them."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_datahub import tables
from companyos_datahub.pages.app import PAGES
from companyos_datahub.pages.fields import fields_of
from companyos_datahub.pages.reading import vendor_names
from companyos_datahub.records import service
from companyos_datahub.records.model import STATES, FoundKind
from companyos_datahub.records.schemas import RecordFilter
from companyos_shared.framework import PageCursor, PageText, PageView, list_edits, page_params, parse_choice

_EDITED = {
    "title": ("Title", "text"),
    "state": ("State", "choice"),
    "owner_id": ("Owner", "person"),
    "amount_cents": ("Amount", "text"),
    "starts_on": ("Starts", "date"),
    "ends_on": ("Ends", "date"),
}


@PAGES.page("/records")
def show_records(
    view: PageView,
    q: PageText = "",
    kind: PageText = "",
    state: PageText = "",
    vendor_id: PageText = "",
    owner_id: PageText = "",
    cursor: PageCursor = None,
) -> HTMLResponse:
    """Show the records and vendors that match all filters and contain any of the words."""
    filters = RecordFilter(
        query=q.strip() or None,
        kind=parse_choice(FoundKind, kind),
        state=state or None,
        vendor_id=vendor_id.strip() or None,
        owner_id=owner_id.strip() or None,
    )
    found = service.search_records(view.call, page_params(cursor), filters)
    return view.page(
        "records.html",
        found=found,
        vendors=vendor_names(view.call, (row.vendor_id for row in found.items)),
        q=q.strip(),
        filters={"kind": kind, "state": state, "vendor_id": vendor_id.strip(), "owner_id": owner_id.strip()},
        cursor=cursor,
        kinds=list(FoundKind),
        states=sorted({state for states in STATES.values() for state in states}),
        people=sorted(((one.id, one.name) for one in view.call.company.people), key=lambda one: one[1]),
    )


@PAGES.page("/records/{record_id}")
def show_record(view: PageView, record_id: str) -> HTMLResponse:
    """Show a record."""
    call = view.call
    record = service.get_record(call, record_id)
    view.shows(record, "fields")
    fields, day = fields_of(call, record), call.now.date()
    people = [one for one in call.company.people if one.is_employed(day) or one.id == record.owner_id]
    return view.page(
        "record.html",
        record=record,
        vendors=vendor_names(call, [record.vendor_id]),
        fields=fields,
        states=STATES[record.kind],
        edits=list_edits(view, tables.records, record.id, _EDITED, {one.name: one.type for one in fields}),
        owners=sorted(((one.id, f"{one.name}, {one.title}") for one in people), key=lambda one: one[1]),
    )
