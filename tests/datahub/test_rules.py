"""The rules of DataHub as pure functions."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from companyos_datahub.calendar.rules import (
    LATEST,
    MAX_DAYS,
    Days,
    PeriodNotAllowedError,
    absences_in,
    period,
)
from companyos_datahub.main import SERVICE
from companyos_datahub.metrics.service import is_stale
from companyos_datahub.people.rules import back_on, holding
from companyos_datahub.policies.rules import PolicyNotInForceError, is_in_force, version_in_force
from companyos_datahub.records.model import FIELDS, STATES, FieldType, FoundKind, RecordKind
from companyos_datahub.records.rules import (
    LONGEST_TEXT,
    EndsBeforeStartError,
    UnknownOwnerError,
    WrongFieldTypeError,
    check_fields,
    check_owner,
    check_period,
    check_present_fields,
    field_type,
    fits,
)
from companyos_datahub.refreshes.model import RefreshOutcome, RefreshPlan
from companyos_datahub.refreshes.rules import (
    MaintenanceWindowError,
    check_may_refresh,
    value_of,
)
from companyos_datahub.vendors.rules import VendorStatusNotAllowedError, check_may_become, is_expired
from companyos_datahub.vendors.schemas import MOVES, VendorStatus
from companyos_shared.wire.company import Role
from tests.datahub.builders import NOON, a_source, a_version

HOUR = timedelta(hours=1)
MONDAY = date(2026, 3, 2)


@pytest.mark.parametrize(
    ("age", "stale"), [(HOUR - timedelta(seconds=1), False), (HOUR, False), (HOUR + timedelta(seconds=1), True)]
)
def test_a_value_is_stale_only_when_older_than_the_sla(age: timedelta, stale: bool) -> None:
    assert is_stale(NOON - age, 60, NOON) is stale


def test_a_source_in_maintenance_accepts_no_job() -> None:
    source = a_source(maintenance_from=NOON, maintenance_to=NOON + HOUR)
    with pytest.raises(MaintenanceWindowError, match="2026-03-02T13:00Z"):
        check_may_refresh(source, None, now=NOON)


def test_a_planned_value_of_zero_is_used() -> None:
    assert value_of(RefreshPlan(outcome=RefreshOutcome.SUCCEEDED, value=0.0), 3.5) == 0.0


def test_every_kind_of_record_has_states_and_fields_and_is_searchable() -> None:
    assert set(STATES) == set(FIELDS) == set(RecordKind)
    assert [kind.value for kind in FoundKind] == [*(kind.value for kind in RecordKind), "vendor"]


@pytest.mark.parametrize(
    ("value", "kind", "right"),
    [
        (True, FieldType.BOOLEAN, True),
        (1, FieldType.BOOLEAN, False),
        (1, FieldType.INTEGER, True),
        (True, FieldType.INTEGER, False),
        (1.5, FieldType.INTEGER, False),
        (1.5, FieldType.NUMBER, True),
        (False, FieldType.NUMBER, False),
        ("2026-03-02", FieldType.DATE, True),
        ("20260302", FieldType.DATE, False),
        ("2026-02-30", FieldType.DATE, False),
        (20260302, FieldType.DATE, False),
        ("", FieldType.TEXT, True),
        (None, FieldType.TEXT, False),
        ([], FieldType.TEXT, False),
    ],
)
def test_a_value_matches_only_its_own_type(value: Any, kind: FieldType, right: bool) -> None:
    assert fits(value, kind) is right


@pytest.mark.parametrize(
    ("name", "present", "expected"),
    [
        ("seats", {}, FieldType.INTEGER),
        ("seats", {"seats": "forty"}, FieldType.INTEGER),
        ("colour", {"colour": "red"}, FieldType.TEXT),
        ("colour", {"colour": True}, FieldType.BOOLEAN),
        ("colour", {"colour": 3}, FieldType.NUMBER),
        ("colour", {}, None),
    ],
)
def test_a_field_has_the_declared_type_or_that_of_its_value(
    name: str, present: Any, expected: FieldType | None
) -> None:
    assert field_type(RecordKind.LICENSE, name, present) is expected


def test_a_text_has_a_maximum_length() -> None:
    check_fields(RecordKind.LICENSE, {}, {"product": "x" * LONGEST_TEXT})
    with pytest.raises(WrongFieldTypeError):
        check_fields(RecordKind.LICENSE, {}, {"product": "x" * (LONGEST_TEXT + 1)})


def test_an_existing_declared_field_keeps_its_declared_type() -> None:
    check_present_fields(RecordKind.LICENSE, {"seats": 40, "colour": ["red"]})
    with pytest.raises(WrongFieldTypeError):
        check_present_fields(RecordKind.LICENSE, {"seats": "40"})


def test_a_record_may_end_on_the_day_it_starts_but_not_before() -> None:
    check_period(MONDAY, MONDAY)
    check_period(None, MONDAY)
    check_period(MONDAY, None)
    with pytest.raises(EndsBeforeStartError):
        check_period(MONDAY, MONDAY - timedelta(days=1))


def test_an_owner_must_work_for_the_company() -> None:
    check_owner(None, is_active=False)
    check_owner("E-1", is_active=True)
    with pytest.raises(UnknownOwnerError):
        check_owner("E-1", is_active=False)


@pytest.mark.parametrize("current", list(VendorStatus))
@pytest.mark.parametrize("target", list(VendorStatus))
def test_a_vendor_changes_its_state_only_by_allowed_transitions(current: VendorStatus, target: VendorStatus) -> None:
    if target is current or target in MOVES[current]:
        check_may_become("VEN-1", current, target)
        return
    assert target is VendorStatus.PROSPECT
    with pytest.raises(VendorStatusNotAllowedError):
        check_may_become("VEN-1", current, target)


def test_a_certificate_is_valid_on_its_last_day() -> None:
    assert not is_expired(MONDAY, MONDAY)
    assert is_expired(MONDAY, MONDAY + timedelta(days=1))


def test_a_present_holder_has_no_return_date() -> None:
    company = SERVICE.demo_seed().company
    ceo = company.person("E-1001")
    assert ceo is not None
    held = holding(company, ceo, Role.CEO, day=MONDAY)
    assert (held.out_of_office, held.back_on, held.deputy, held.deputy_out_of_office) == (False, None, None, None)


def test_a_former_employee_is_not_a_deputy() -> None:
    company = SERVICE.demo_seed().company
    left = company.model_copy(
        update={
            "people": tuple(
                person.model_copy(update={"employed_to": date(2026, 2, 28)}) if person.id == "E-1003" else person
                for person in company.people
            )
        }
    )
    cfo = left.person("E-1002")
    assert cfo is not None
    assert holding(left, cfo, Role.CFO, day=MONDAY).deputy is None


def test_a_return_date_skips_holidays_and_weekends() -> None:
    assert back_on(SERVICE.demo_seed().company, "E-1001", date(2026, 4, 3)) == date(2026, 4, 7)


@pytest.mark.parametrize(("days", "allowed"), [(-1, False), (0, True), (MAX_DAYS - 1, True), (MAX_DAYS, False)])
def test_a_period_has_1_to_366_days(days: int, allowed: bool) -> None:
    last = MONDAY + timedelta(days=days)
    if allowed:
        assert period(MONDAY, last, today=MONDAY) == Days(MONDAY, last)
        return
    with pytest.raises(PeriodNotAllowedError):
        period(MONDAY, last, today=MONDAY)


def test_the_latest_day_has_a_default_end() -> None:
    assert period(LATEST, None, today=MONDAY).last > LATEST


def test_an_absence_that_overlaps_a_period_belongs_to_it() -> None:
    company = SERVICE.demo_seed().company
    assert [absence.id for absence in absences_in(company, Days(date(2026, 3, 6), date(2026, 3, 9)), None)] == [
        "ABS-1",
        "ABS-2",
    ]
    assert absences_in(company, Days(date(2026, 3, 7), date(2026, 3, 8)), None) == []
    assert [absence.id for absence in absences_in(company, Days(MONDAY, date(2026, 3, 9)), "E-1007")] == ["ABS-2"]


def test_a_version_is_valid_on_its_first_and_last_day() -> None:
    version = a_version(1, date(2026, 1, 1), date(2026, 1, 31))
    days = [date(2025, 12, 31), date(2026, 1, 1), date(2026, 1, 31), date(2026, 2, 1)]
    assert [is_in_force(version, day) for day in days] == [False, True, True, False]


def test_the_newest_valid_version_is_in_force() -> None:
    versions = [
        a_version(1, date(2025, 1, 1)),
        a_version(3, date(2026, 6, 1)),
        a_version(2, date(2026, 1, 1)),
    ]
    assert version_in_force("POL-1", versions, MONDAY).version == 2


def test_an_expired_policy_is_not_in_force() -> None:
    with pytest.raises(PolicyNotInForceError):
        version_in_force("POL-1", [a_version(1, date(2024, 1, 1), date(2024, 12, 31))], MONDAY)
