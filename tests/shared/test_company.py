"""The company calendar: presence and working hours of people."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from companyos_shared.wire.company import Absence, AbsenceKind, Company, Holiday, Person, Role, RoleHeld


def _company() -> Company:
    role = RoleHeld(role=Role.CFO, first_day=date(2025, 1, 1), last_day=date(2026, 3, 3), deputy_id="P-2")
    return Company(
        name="Acme",
        domain="acme.example",
        agent_id="P-2",
        people=(
            Person(
                id="P-1", name="A", email="a@x", title="", team_id="T", employed_from=date(2020, 1, 1), roles=(role,)
            ),
            Person(
                id="P-2",
                name="B",
                email="b@x",
                title="",
                team_id="T",
                employed_from=date(2020, 1, 1),
                employed_to=date(2026, 3, 2),
            ),
        ),
        absences=(
            Absence(
                id="A-1",
                person_id="P-1",
                first_day=date(2026, 3, 3),
                last_day=date(2026, 3, 4),
                kind=AbsenceKind.SICK,
            ),
        ),
        holidays=(Holiday(day=date(2026, 3, 6), name="Founders' day"),),
    )


def _at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "minutes", "end"),
    [
        (_at(2, 9), 60, _at(2, 10)),
        (_at(2, 7), 60, _at(2, 10)),
        (_at(2, 16, 30), 60, _at(3, 9, 30)),
        (_at(2, 18), 0, _at(3, 9)),
        (_at(5, 16, 30), 60, _at(9, 9, 30)),
        (_at(7, 12), 8 * 60, _at(9, 17)),
    ],
)
def test_office_minutes_skip_nights_weekends_and_holidays(start: datetime, minutes: int, end: datetime) -> None:
    assert _company().add_office_minutes(start, minutes) == end


def test_office_minutes_of_a_person_skip_absences() -> None:
    assert _company().add_office_minutes(_at(2, 16, 30), 60, "P-1") == _at(5, 9, 30)


@pytest.mark.parametrize(
    ("now", "morning"),
    [(_at(2, 8), _at(2, 9)), (_at(2, 9), _at(3, 9)), (_at(5, 12), _at(9, 9)), (_at(7, 1), _at(9, 9))],
)
def test_the_next_working_morning_is_in_the_future(now: datetime, morning: datetime) -> None:
    assert _company().next_working_morning(now) == morning


def test_a_role_is_held_from_its_first_to_its_last_day() -> None:
    company = _company()
    assert [person.id for person in company.holders(Role.CFO, date(2026, 3, 3))] == ["P-1"]
    assert company.holders(Role.CFO, date(2026, 3, 4)) == []


def test_former_employees_and_unknown_people_are_not_active() -> None:
    company = _company()
    assert company.is_active("P-2", date(2026, 3, 2))
    assert not company.is_active("P-2", date(2026, 3, 3))
    assert not company.is_active("P-9", date(2026, 3, 2))


def test_an_absence_includes_both_its_days() -> None:
    company = _company()
    assert [company.is_out_of_office("P-1", date(2026, 3, day)) for day in (2, 3, 4, 5)] == [False, True, True, False]
