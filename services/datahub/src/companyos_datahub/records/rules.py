"""Which states and fields a record may have, and what is refused about records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from pydantic import JsonValue

from companyos_datahub.records.model import FIELDS, STATES, Fields, FieldType, Record, RecordKind
from companyos_shared.chassis import Problem

LONGEST_TEXT = 500


class RecordNotFound(Problem):
    status, code, title = 404, "record-not-found", "There is no such record"


class UnknownState(Problem):
    status, code, title = 422, "unknown-state", "The kind of record has no such state"


class UnknownField(Problem):
    status, code, title = 422, "unknown-field", "The record has no such field"


class WrongFieldType(Problem):
    status, code, title = 422, "wrong-field-type", "The value of a field has another type"


class EndsBeforeStart(Problem):
    status, code, title = 422, "ends-before-start", "The record would end before it starts"


class UnknownOwner(Problem):
    status, code, title = 422, "unknown-owner", "The owner does not work for the company"


class NothingToUpdate(Problem):
    status, code, title = 422, "nothing-to-update", "The update names nothing to change"


def check_state(kind: RecordKind, state: str) -> None:
    """Raise UnknownState where the kind has no such state."""
    if state not in STATES[kind]:
        raise UnknownState(f"The states of a {kind} are {', '.join(STATES[kind])}; {state!r} is none of them.")


def check_changes(changes: Mapping[str, object]) -> None:
    """Raise NothingToUpdate where no change is named."""
    if not changes:
        raise NothingToUpdate


def check_owner(owner_id: str | None, *, is_active: bool) -> None:
    """Raise UnknownOwner where a new owner does not work for the company."""
    if owner_id is not None and not is_active:
        raise UnknownOwner(f"{owner_id} does not work for the company today.")


def check_period(starts_on: date | None, ends_on: date | None) -> None:
    """Raise EndsBeforeStart where the last day lies before the first."""
    if starts_on is not None and ends_on is not None and ends_on < starts_on:
        raise EndsBeforeStart(f"{ends_on} lies before {starts_on}.")


def check_fields(record: Record, changes: Fields) -> None:
    """Raise UnknownField or WrongFieldType where a new value does not fit the record."""
    for name, value in changes.items():
        wanted = field_type(record.kind, name, record.fields)
        if wanted is None:
            raise UnknownField(f"Record {record.id} has no field {name!r}.")
        if not fits(value, wanted):
            raise WrongFieldType(f"Field {name!r} is of type {wanted}; the value given is not.")
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise WrongFieldType(f"Field {name!r} holds at most {LONGEST_TEXT} characters.")


def check_present_fields(kind: RecordKind, fields: Fields) -> None:
    """Raise WrongFieldType where a field that the kind declares holds a value of another type."""
    for name, value in fields.items():
        declared = FIELDS[kind].get(name)
        if declared is not None and not fits(value, declared):
            raise WrongFieldType(f"Field {name!r} is of type {declared}; {value!r} is not.")


def field_type(kind: RecordKind, name: str, present: Fields) -> FieldType | None:
    """Return the type of a field: the kind's own, else that of the present value, None where there is no such field."""
    declared = FIELDS[kind].get(name)
    if declared is not None or name not in present:
        return declared
    return _type_of(present[name])


def fits(value: JsonValue, wanted: FieldType) -> bool:
    """Return whether a JSON value is of the type."""
    if wanted is FieldType.BOOLEAN:
        return isinstance(value, bool)
    if wanted is FieldType.INTEGER:
        return isinstance(value, int) and not isinstance(value, bool)
    if wanted is FieldType.NUMBER:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if wanted is FieldType.DATE:
        return isinstance(value, str) and _is_date(value)
    return isinstance(value, str)


def _type_of(value: JsonValue) -> FieldType:
    if isinstance(value, bool):
        return FieldType.BOOLEAN
    if isinstance(value, int | float):
        return FieldType.NUMBER
    return FieldType.TEXT


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
