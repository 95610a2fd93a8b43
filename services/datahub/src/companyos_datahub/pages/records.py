"""Pages of records: a filtered list, and a record with its fields and the form to edit them."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi.responses import HTMLResponse

from companyos_datahub import tables
from companyos_datahub.pages.app import PAGES, place_of, vendor_names
from companyos_datahub.records import service
from companyos_datahub.records.model import FIELDS, STATES, FieldType, FoundKind
from companyos_datahub.records.rules import field_type
from companyos_datahub.records.schemas import RecordDetail, RecordFilter
from companyos_shared.framework import Call, PageCursor, PageText, PageView, list_edits, page_params, parse_choice
from companyos_shared.pages.rendering import field_label, form_argument
from companyos_shared.pages.values import format_value

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a record."""

    name: str
    title: str
    type: FieldType
    value: str
    text: str
    """The value in a form field."""

    place: tuple[str, str] | None
    """Path of the page of the object that the field names."""

    argument: str | None
    """Name of the form field; None if the name is not valid in a form."""


def fields_of(call: Call, record: RecordDetail) -> list[Field]:
    """Return the fields of the kind, then the record's additional fields."""
    names = dict.fromkeys([*FIELDS[record.kind], *record.fields])
    return [_field(call, record, name) for name in names]


def _field(call: Call, record: RecordDetail, name: str) -> Field:
    value = record.fields.get(name)
    kind = field_type(record.kind, name, record.fields) or FieldType.TEXT
    text = format_value(name, value, kind)
    return Field(
        name=name,
        title=field_label(name),
        type=kind,
        value=text,
        text="" if value in (None, "") else text,
        place=place_of(call, value),
        argument=None if isinstance(value, list | dict) else form_argument(name, kind),
    )
