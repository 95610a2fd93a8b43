"""Rules of requests: states and fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from companyos_approvalflow.approval_types.model import FieldType
from companyos_approvalflow.approval_types.rules import (
    FieldMissingError,
    UnknownFieldError,
    WrongFieldTypeError,
    checked_fields,
    fitting_value,
)
from companyos_approvalflow.requests.model import FINAL, MOVES, OPEN, WAITING, RequestStatus
from companyos_approvalflow.requests.rules import (
    check_may_move,
    check_none_open,
    check_waits_for_information,
)
from companyos_shared.framework import ServiceError
from tests.approvalflow.builders import (
    FIELDS,
    NOW,
    a_request,
    a_type,
)


def _code(check: Callable[[], object]) -> str | None:
    try:
        check()
    except ServiceError as problem:
        return problem.code
    return None


def test_every_status_has_its_allowed_transitions() -> None:
    assert set(MOVES) == set(RequestStatus)
    assert {status.value for status in FINAL} == {"approved", "rejected", "cancelled", "withdrawn", "expired"}
    assert {status.value for status in OPEN} == {"pending", "escalated", "info_requested"}
    assert not FINAL & OPEN
    assert WAITING < OPEN


@pytest.mark.parametrize("status", sorted(FINAL))
@pytest.mark.parametrize("to", [RequestStatus.CANCELLED, RequestStatus.WITHDRAWN, RequestStatus.ESCALATED])
def test_a_final_request_has_no_transitions(status: RequestStatus, to: RequestStatus) -> None:
    assert _code(lambda: check_may_move(a_request(status=status), to)) == "request-final"


@pytest.mark.parametrize("status", sorted(set(RequestStatus) - FINAL))
@pytest.mark.parametrize("to", [RequestStatus.CANCELLED, RequestStatus.WITHDRAWN])
def test_any_request_that_is_not_final_can_be_ended(status: RequestStatus, to: RequestStatus) -> None:
    assert _code(lambda: check_may_move(a_request(status=status), to)) is None


def test_only_a_pending_request_can_be_escalated() -> None:
    to = RequestStatus.ESCALATED
    assert _code(lambda: check_may_move(a_request(status=RequestStatus.PENDING), to)) is None
    assert _code(lambda: check_may_move(a_request(status=RequestStatus.ESCALATED), to)) is None
    request = a_request(status=RequestStatus.INFO_REQUESTED)
    assert _code(lambda: check_may_move(request, to)) == "information-outstanding"
    assert _code(lambda: check_may_move(a_request(status=RequestStatus.DRAFT), to)) == "request-not-submitted"


def test_information_is_accepted_only_if_it_was_requested() -> None:
    assert _code(lambda: check_waits_for_information(a_request(status=RequestStatus.INFO_REQUESTED))) is None
    assert _code(lambda: check_waits_for_information(a_request())) == "information-not-requested"
    decided = a_request(status=RequestStatus.APPROVED)
    assert _code(lambda: check_waits_for_information(decided)) == "request-final"


@pytest.mark.parametrize("status", sorted(RequestStatus))
def test_only_one_request_of_a_type_is_open_per_subject(status: RequestStatus) -> None:
    expected = "request-open" if status in OPEN else None
    assert _code(lambda: check_none_open(a_request(status=status))) == expected
    assert _code(lambda: check_none_open(None)) is None


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


def test_evidence_of_the_current_moment_is_accepted() -> None:
    moment = NOW.isoformat().replace("+00:00", "Z")
    assert checked_fields(a_type(), {**FIELDS, "score_as_of": moment}, NOW)["score_as_of"] == moment


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
