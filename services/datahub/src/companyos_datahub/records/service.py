"""Service functions of records."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, Row, Select, literal, null, select, union_all, update

from companyos_datahub.records.model import FoundKind
from companyos_datahub.records.rules import (
    RecordNotFoundError,
    check_changes,
    check_fields,
    check_owner,
    check_period,
    check_state,
    check_state_filter,
)
from companyos_datahub.records.schemas import Found, RecordDetail, RecordFilter, RecordUpdate
from companyos_datahub.tables import records, vendors
from companyos_shared.choices import fold_choice
from companyos_shared.framework import (
    Call,
    Page,
    PageParams,
    Searchable,
    candidates,
    check_version,
    paginate_sequence,
    search,
)

_RECORD_COLUMNS = ("amount_cents", "currency", "starts_on", "ends_on")
"""Listed columns that vendors do not have."""


def search_records(call: Call, page: PageParams, filters: RecordFilter) -> Page[Found]:
    """Return records and vendors, best match first, then by id."""
    check_state_filter(filters.kind, filters.columns().get("state"))
    found_records = _records().where(candidates(call, records, filters.query))
    found_vendors = _vendors().where(candidates(call, vendors, filters.query))
    rows = union_all(found_records, found_vendors).subquery()
    statement = select(rows).order_by(rows.c.id)
    for name, value in filters.columns().items():
        statement = statement.where(rows.c[name] == value)
    found = search(call.db.execute(statement).all(), filters.query, _searchable)
    return paginate_sequence(found, page, build=Found.model_validate)


def get_record(call: Call, record_id: str) -> RecordDetail:
    """Return a record; raises RecordNotFoundError (404)."""
    row = call.db.execute(select(records).where(records.c.id == record_id)).one_or_none()
    if row is None:
        raise RecordNotFoundError(f'no record has the id "{record_id}"')
    return RecordDetail.model_validate(row)


def update_record(call: Call, record_id: str, body: RecordUpdate, *, if_match: int | None) -> RecordDetail:
    """Change a record; omitted fields stay unchanged."""
    record = get_record(call, record_id)
    check_version(if_match, record.version)
    changes = body.model_dump(exclude_defaults=True)
    if "state" in changes:
        changes["state"] = fold_choice(changes["state"])
    check_changes(changes)
    check_state(record.kind, changes.get("state", record.state))
    check_owner(changes.get("owner_id"), is_active=call.company.is_active(changes.get("owner_id", ""), call.now.date()))
    check_period(changes.get("starts_on", record.starts_on), changes.get("ends_on", record.ends_on))
    check_fields(record.kind, record.fields, changes.get("fields", {}))
    _change(call, record, changes)
    return get_record(call, record_id)


def apply_record(call: Call, payload: dict[str, Any]) -> None:
    """Apply a colleague's scheduled change: {record_id, ...} with the fields of RecordUpdate."""
    body = RecordUpdate.model_validate({name: value for name, value in payload.items() if name != "record_id"})
    _change(call, get_record(call, payload["record_id"]), body.model_dump(exclude_defaults=True))


def _change(call: Call, record: RecordDetail, changes: dict[str, Any]) -> None:
    """Write changed values and increment the version; equal values change nothing."""
    values = changes | {"fields": {**record.fields, **changes.get("fields", {})}}
    if any(getattr(record, name) != value for name, value in values.items()):
        values |= {"version": record.version + 1, "updated_at": call.now}
        call.db.execute(update(records).where(records.c.id == record.id).values(**values))


def _records() -> Select[Any]:
    columns = ("id", "kind", "title", "state", "owner_id", "vendor_id", *_RECORD_COLUMNS)
    return select(*(records.c[name] for name in columns), records.c.fields, literal("").label("text"))


def _vendors() -> Select[Any]:
    return select(
        vendors.c.id,
        literal(FoundKind.VENDOR.value).label("kind"),
        vendors.c.name.label("title"),
        vendors.c.status.label("state"),
        null().label("owner_id"),
        vendors.c.id.label("vendor_id"),
        *(null().label(name) for name in _RECORD_COLUMNS),
        literal({}, JSON).label("fields"),
        (vendors.c.legal_name + " " + vendors.c.tax_id + " " + vendors.c.category + " " + vendors.c.contact_name).label(
            "text"
        ),
    )


def _searchable(row: Row[Any]) -> Searchable:
    values = " ".join(str(value) for value in row.fields.values() if value is not None)
    return Searchable(row.id, row.title, f"{row.vendor_id or ''} {values} {row.text}")
