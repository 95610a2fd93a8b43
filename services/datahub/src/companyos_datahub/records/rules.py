"""Rules of records: states, fields, owners and periods."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from pydantic import JsonValue

from companyos_datahub.records.model import FIELDS, STATES, Fields, FieldType, FoundKind, RecordKind
from companyos_datahub.records.schemas import RecordUpdate
from companyos_datahub.vendors.schemas import VendorStatus
from companyos_shared.framework import ServiceError
from companyos_shared.framework.errors import shortened

LONGEST_TEXT = 500


class RecordNotFoundError(ServiceError):
    status, code, title = 404, "record-not-found", "Record not found"


class UnknownStateError(ServiceError):
    status, code, title = 422, "unknown-state", "Unknown state"


class UnknownFieldError(ServiceError):
    status, code, title = 422, "unknown-field", "Unknown field"


class WrongFieldTypeError(ServiceError):
    status, code, title = 422, "wrong-field-type", "Wrong field type"


class EndsBeforeStartError(ServiceError):
    status, code, title = 422, "ends-before-start", "Record ends before it starts"


class UnknownOwnerError(ServiceError):
    status, code, title = 422, "unknown-owner", "Owner not employed"


class NothingToUpdateError(ServiceError):
    status, code, title = 422, "nothing-to-update", "Nothing to update"


def check_state(kind: RecordKind, state: str) -> None:
    """Raise UnknownStateError (422) if the kind does not have the state."""
    if state not in STATES[kind]:
        raise UnknownStateError(f'state must be one of {", ".join(STATES[kind])}; got "{state}"')


def check_state_filter(kind: FoundKind | None, state: str | None) -> None:
    """Raise UnknownStateError (422) if no record or vendor can have the state."""
    every = [*(state for states in STATES.values() for state in states), *VendorStatus]
    if state is not None and state not in every:
        if kind is FoundKind.VENDOR:
            every = list(VendorStatus)
        elif kind is not None:
            every = list(STATES[RecordKind(kind)])
        raise UnknownStateError(f'state must be one of {", ".join(dict.fromkeys(every))}; got "{state}"')


def check_changes(changes: Mapping[str, object]) -> None:
    """Raise NothingToUpdateError (422) for an update without changes."""
    if not changes:
        raise NothingToUpdateError(f"at least one of {', '.join(RecordUpdate.model_fields)} is required")


def check_owner(owner_id: str | None, *, is_active: bool) -> None:
    """Raise UnknownOwnerError (422) if a new owner is not employed."""
    if owner_id is not None and not is_active:
        raise UnknownOwnerError(f'owner_id must be the id of a current employee; got "{owner_id}"')


def check_period(starts_on: date | None, ends_on: date | None) -> None:
    """Raise EndsBeforeStartError (422) if the last day is before the first."""
    if starts_on is not None and ends_on is not None and ends_on < starts_on:
        raise EndsBeforeStartError(f"ends_on must not be before starts_on ({starts_on}); got {ends_on}")


def check_fields(kind: RecordKind, present: Fields, changes: Fields) -> None:
    """Raise UnknownFieldError or WrongFieldTypeError (422) for an invalid new value."""
    for name, value in changes.items():
        expected = field_type(kind, name, present)
        if expected is None:
            raise UnknownFieldError(
                f"fields.{name} is not a field of this {kind}; "
                f"accepted: {', '.join(dict.fromkeys([*FIELDS[kind], *present]))}"
            )
        if not fits(value, expected):
            raise WrongFieldTypeError(f"fields.{name} must be of type {expected}; got {shortened(value)}")
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise WrongFieldTypeError(f"fields.{name} must have at most {LONGEST_TEXT} characters; got {len(value)}")


def check_present_fields(kind: RecordKind, fields: Fields) -> None:
    """Raise WrongFieldTypeError (422) if a field of the kind has a value of another type."""
    for name, value in fields.items():
        declared = FIELDS[kind].get(name)
        if declared is not None and not fits(value, declared):
            raise WrongFieldTypeError(f"fields.{name} must be of type {declared}; got {shortened(value)}")


def field_type(kind: RecordKind, name: str, present: Fields) -> FieldType | None:
    """Return the type of a field from its kind, else from its current value, or None for an unknown field."""
    declared = FIELDS[kind].get(name)
    if declared is not None or name not in present:
        return declared
    return _type_of(present[name])


def fits(value: JsonValue, expected: FieldType) -> bool:
    """Return whether a JSON value is of the type."""
    if expected is FieldType.BOOLEAN:
        return isinstance(value, bool)
    if expected is FieldType.INTEGER:
        return isinstance(value, int) and not isinstance(value, bool)
    if expected is FieldType.NUMBER:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if expected is FieldType.DATE:
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
