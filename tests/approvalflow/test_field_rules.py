"""Validation of request fields."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from companyos_approvalflow.approval_types.model import FieldType
from companyos_approvalflow.approval_types.rules import (
    AmountNegativeError,
    EvidenceInFutureError,
    FieldMissingError,
    UnknownFieldError,
    WrongFieldTypeError,
    checked_fields,
    fitting_value,
)
from companyos_shared.framework import ServiceError
from tests.approvalflow.builders import FIELDS, NOW, a_type


def _refused(fields: dict[str, Any]) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        checked_fields(a_type(), fields, NOW)
    return caught.value


def test_valid_fields_are_stored_unchanged() -> None:
    assert checked_fields(a_type(), FIELDS, NOW) == FIELDS


def test_an_optional_field_is_accepted() -> None:
    given = {**FIELDS, "is_urgent": True, "starts_on": "2026-05-01"}
    assert checked_fields(a_type(), given, NOW) == given


def test_an_unknown_field_is_named() -> None:
    problem = _refused({**FIELDS, "colour": "red"})
    assert isinstance(problem, UnknownFieldError)
    assert problem.errors == [
        {"place": "fields.colour", "reason": f"is not one of {', '.join(spec.name for spec in a_type().fields)}"}
    ]


def test_a_missing_field_is_named() -> None:
    problem = _refused({name: value for name, value in FIELDS.items() if name != "score"})
    assert isinstance(problem, FieldMissingError)
    assert problem.errors == [{"place": "fields.score", "reason": "is required"}]


def test_every_field_of_the_wrong_type_is_named() -> None:
    problem = _refused({**FIELDS, "score": "85", "cost_cents": True})
    assert isinstance(problem, WrongFieldTypeError)
    assert [error["place"] for error in problem.errors or []] == ["fields.score", "fields.cost_cents"]


def test_a_long_unknown_name_is_truncated_in_the_error() -> None:
    assert len(_refused({**FIELDS, "x" * 5000: 1}).detail or "") < 200


def test_an_amount_below_zero_is_rejected() -> None:
    assert isinstance(_refused({**FIELDS, "cost_cents": -1}), AmountNegativeError)


def test_evidence_of_the_current_moment_is_accepted() -> None:
    moment = NOW.isoformat().replace("+00:00", "Z")
    assert checked_fields(a_type(), {**FIELDS, "score_as_of": moment}, NOW)["score_as_of"] == moment


def test_evidence_from_the_future_is_rejected() -> None:
    later = (NOW + timedelta(minutes=1)).isoformat()
    assert isinstance(_refused({**FIELDS, "score_as_of": later}), EvidenceInFutureError)


def test_a_datetime_is_stored_in_utc() -> None:
    kept = checked_fields(a_type(), {**FIELDS, "score_as_of": "2026-03-02T09:30:00+01:00"}, NOW)
    assert kept["score_as_of"] == "2026-03-02T08:30:00Z"


@pytest.mark.parametrize(
    ("field_type", "value"),
    [
        (FieldType.TEXT, 85),
        (FieldType.TEXT, "   "),
        (FieldType.TEXT, "x" * 501),
        (FieldType.TEXT, None),
        (FieldType.TEXT, ["V-1"]),
        (FieldType.NUMBER, "85"),
        (FieldType.NUMBER, True),
        (FieldType.NUMBER, float("inf")),
        (FieldType.NUMBER, {"value": 85}),
        (FieldType.INTEGER, 85.0),
        (FieldType.INTEGER, True),
        (FieldType.INTEGER, "85"),
        (FieldType.INTEGER, 2**53 + 1),
        (FieldType.BOOLEAN, 1),
        (FieldType.BOOLEAN, "true"),
        (FieldType.DATETIME, "2026-03-02"),
        (FieldType.DATETIME, "2026-03-02T09:15:00"),
        (FieldType.DATETIME, "2026-02-30T09:15:00Z"),
        (FieldType.DATETIME, "0001-01-01T00:00:00+14:00"),
        (FieldType.DATETIME, 1772442900),
        (FieldType.DATE, "2026-03-02T00:00:00Z"),
        (FieldType.DATE, "2026-02-30"),
        (FieldType.DATE, "20260302"),
    ],
)
def test_a_value_of_another_type_is_rejected(field_type: FieldType, value: object) -> None:
    assert fitting_value(field_type, value) is None


@pytest.mark.parametrize(
    ("field_type", "value"),
    [
        (FieldType.TEXT, "V-1"),
        (FieldType.NUMBER, 85),
        (FieldType.NUMBER, 85.5),
        (FieldType.INTEGER, 0),
        (FieldType.BOOLEAN, False),
        (FieldType.DATETIME, "2026-03-02T09:15:00Z"),
        (FieldType.DATE, "2026-03-02"),
    ],
)
def test_a_value_of_the_right_type_is_stored(field_type: FieldType, value: object) -> None:
    kept = fitting_value(field_type, value)
    assert kept == value
    assert type(kept) is type(value)
