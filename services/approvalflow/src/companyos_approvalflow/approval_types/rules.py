"""Validation of request fields against their approval type."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime

from companyos_approvalflow.approval_types.model import ApprovalType, Fields, FieldSpec, FieldType, FieldValue
from companyos_shared.framework import ServiceError
from companyos_shared.framework.columns import format_time
from companyos_shared.framework.errors import shortened

LONGEST_TEXT = 500
LARGEST_NUMBER = 2**53
LONGEST_NAME = 64
MAX_PLACES = 5
_DATETIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_EXPECTED = {
    FieldType.TEXT: f"text of 1 to {LONGEST_TEXT} characters",
    FieldType.NUMBER: "a number",
    FieldType.INTEGER: "an integer",
    FieldType.BOOLEAN: "true or false",
    FieldType.DATETIME: "a datetime with a UTC offset, like 2026-03-02T09:15:00Z",
    FieldType.DATE: "a date, like 2026-03-02",
}


class ApprovalTypeNotFoundError(ServiceError):
    status, code, title = 404, "approval-type-not-found", "Approval type not found"


class UnknownFieldError(ServiceError):
    status, code, title = 422, "unknown-field", "Unknown field"


class WrongFieldTypeError(ServiceError):
    status, code, title = 422, "wrong-field-type", "Wrong field type"


class FieldMissingError(ServiceError):
    status, code, title = 422, "field-missing", "Required field missing"


class AmountNegativeError(ServiceError):
    status, code, title = 422, "amount-negative", "Negative amount"


class EvidenceInFutureError(ServiceError):
    status, code, title = 422, "evidence-in-future", "Evidence dated in the future"


FIELD_PROBLEMS: tuple[type[ServiceError], ...] = (
    UnknownFieldError,
    WrongFieldTypeError,
    FieldMissingError,
    AmountNegativeError,
    EvidenceInFutureError,
)
"""Errors for invalid fields of a request, in the order of the checks."""


def checked_fields(approval_type: ApprovalType, values: Mapping[str, object], now: datetime) -> Fields:
    """Return the normalized fields, with datetimes in UTC; raises one of FIELD_PROBLEMS (422)."""
    specs = {spec.name: spec for spec in approval_type.fields}
    accepted = f"is not one of {', '.join(specs)}" if specs else "is not accepted: the type has no fields"
    _raise_for(UnknownFieldError, [(name, accepted) for name in values if name not in specs])
    parsed = {name: fitting_value(specs[name].type, value) for name, value in values.items()}
    wrong = [name for name, value in parsed.items() if value is None]
    _raise_for(
        WrongFieldTypeError,
        [(name, f"must be {_EXPECTED[specs[name].type]}; got {shortened(values[name])}") for name in wrong],
    )
    _raise_for(
        FieldMissingError, [(spec.name, "is required") for spec in approval_type.fields if _is_missing(spec, values)]
    )
    fields = {name: value for name, value in parsed.items() if value is not None}
    check_amount(approval_type, fields)
    check_evidence(approval_type, fields, now)
    return fields


def check_amount(approval_type: ApprovalType, fields: Fields) -> None:
    """Raise AmountNegativeError (422) for an amount below zero."""
    amount_cents = approval_type.amount_cents(fields)
    if amount_cents < 0:
        raise AmountNegativeError(f"fields.{approval_type.amount_field} must be at least 0; got {amount_cents}")


def check_evidence(approval_type: ApprovalType, fields: Fields, now: datetime) -> None:
    """Raise EvidenceInFutureError (422) for evidence dated after `now`."""
    dated = [(spec.name, evidence_time(spec, fields)) for spec in approval_type.fields]
    _raise_for(
        EvidenceInFutureError,
        [
            (name, f"must not be after the submission ({format_time(now)}); got {format_time(moment)}")
            for name, moment in dated
            if moment and moment > now
        ],
    )


def evidence_time(spec: FieldSpec, fields: Fields) -> datetime | None:
    """Return the evidence time in a field with an age limit; None for other or absent fields."""
    if spec.type is not FieldType.DATETIME or spec.max_age_minutes is None or spec.name not in fields:
        return None
    return datetime.fromisoformat(str(fields[spec.name]))


def fitting_value(field_type: FieldType, value: object) -> FieldValue | None:
    """Return the normalized value, or None if it is not of the field's type. Types are not converted."""
    match value:
        case bool():
            return value if field_type is FieldType.BOOLEAN else None
        case int():
            return value if field_type in _NUMERIC and abs(value) <= LARGEST_NUMBER else None
        case float():
            return value if field_type is FieldType.NUMBER and math.isfinite(value) else None
        case str():
            return _fitting_text(field_type, value)
        case _:
            return None


_NUMERIC = {FieldType.NUMBER, FieldType.INTEGER}


def _fitting_text(field_type: FieldType, value: str) -> str | None:
    if field_type is FieldType.TEXT:
        return value if value.strip() and len(value) <= LONGEST_TEXT else None
    try:
        if field_type is FieldType.DATETIME and _DATETIME.fullmatch(value):
            return datetime.fromisoformat(value).astimezone(UTC).isoformat().replace("+00:00", "Z")
        if field_type is FieldType.DATE and _DATE.fullmatch(value):
            return date.fromisoformat(value).isoformat()
    except (ValueError, OverflowError):
        return None
    return None


def _is_missing(spec: FieldSpec, values: Mapping[str, object]) -> bool:
    return spec.required and spec.name not in values


def _raise_for(problem: type[ServiceError], invalid: list[tuple[str, str]]) -> None:
    if not invalid:
        return
    places = [(f"fields.{name[:LONGEST_NAME]}", reason) for name, reason in invalid[:MAX_PLACES]]
    detail = "; ".join(f"{place} {reason}" for place, reason in places)
    raise problem(detail, errors=[{"place": place, "reason": reason} for place, reason in places])
