"""What the fields of a request must look like for its approval type."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime

from companyos_approvalflow.approval_types.model import ApprovalType, Fields, FieldSpec, FieldType, FieldValue
from companyos_shared.chassis import Problem

LONGEST_TEXT = 500
LARGEST_NUMBER = 2**53
LONGEST_NAME = 64
MOST_PLACES = 5
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


class ApprovalTypeNotFound(Problem):
    status, code, title = 404, "approval-type-not-found", "There is no such approval type"


class FieldUnknown(Problem):
    status, code, title = 422, "field-unknown", "The approval type has no such field"


class FieldWrongType(Problem):
    status, code, title = 422, "field-wrong-type", "A field holds a value of another type"


class FieldMissing(Problem):
    status, code, title = 422, "field-missing", "A required field is missing"


class AmountNegative(Problem):
    status, code, title = 422, "amount-negative", "The amount is below zero"


class EvidenceInFuture(Problem):
    status, code, title = 422, "evidence-in-future", "The evidence is dated after the submission"


def checked_fields(approval_type: ApprovalType, given: Mapping[str, object], now: datetime) -> Fields:
    """Return the fields as they are kept (datetimes in UTC), or raise the Problem of what does not fit the type."""
    specs = {spec.name: spec for spec in approval_type.fields}
    _refuse(FieldUnknown, [(name, "no field of this type") for name in given if name not in specs])
    fitting = {name: fitting_value(specs[name].type, value) for name, value in given.items()}
    wrong = [(name, f"not {_EXPECTED[specs[name].type]}") for name, value in fitting.items() if value is None]
    _refuse(FieldWrongType, wrong)
    _refuse(FieldMissing, [(spec.name, "required") for spec in approval_type.fields if _is_missing(spec, given)])
    kept = {name: value for name, value in fitting.items() if value is not None}
    check_amount(approval_type, kept)
    check_evidence(approval_type, kept, now)
    return kept


def check_amount(approval_type: ApprovalType, fields: Fields) -> None:
    """Raise AmountNegative (422) for an amount below zero."""
    if approval_type.amount_cents(fields) < 0:
        raise AmountNegative(f"fields.{approval_type.amount_field} is below zero.")


def check_evidence(approval_type: ApprovalType, fields: Fields, now: datetime) -> None:
    """Raise EvidenceInFuture (422) for evidence that is dated after `now`."""
    dated = [(spec.name, evidence_time(spec, fields)) for spec in approval_type.fields]
    _refuse(EvidenceInFuture, [(name, "after the submission") for name, moment in dated if moment and moment > now])


def evidence_time(spec: FieldSpec, fields: Fields) -> datetime | None:
    """Return the time of the evidence in a field with an age limit; null for other fields and absent ones."""
    if spec.type is not FieldType.DATETIME or spec.max_age_minutes is None or spec.name not in fields:
        return None
    return datetime.fromisoformat(str(fields[spec.name]))


def fitting_value(field_type: FieldType, value: object) -> FieldValue | None:
    """Return the value as it is kept where it is of the field's type, else None; nothing is converted."""
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


def _is_missing(spec: FieldSpec, given: Mapping[str, object]) -> bool:
    return spec.required and spec.name not in given


def _refuse(problem: type[Problem], found: list[tuple[str, str]]) -> None:
    if not found:
        return
    places = [(f"fields.{name[:LONGEST_NAME]}", reason) for name, reason in found[:MOST_PLACES]]
    text = "; ".join(f"{place}: {reason}" for place, reason in places)
    raise problem(text, errors=[{"place": place, "reason": reason} for place, reason in places])
