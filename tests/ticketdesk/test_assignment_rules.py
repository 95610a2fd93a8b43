"""Rules of assignment."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from companyos_shared.framework import ServiceError
from companyos_ticketdesk.assignment.model import find_candidate
from companyos_ticketdesk.assignment.rules import (
    AssigneeNotEmployedError,
    AssigneeOutOfOfficeError,
    AssigneeOutsideTeamError,
    UnknownAssigneeError,
    check_may_be_assigned,
)
from tests.ticketdesk.builders import (
    ACCOUNTANT,
    AWAY,
    DEPARTED,
    EVA,
    NOW,
    OPS,
    STARTS_LATER,
    a_company,
)

LAST_DAY_AWAY = NOW + timedelta(days=8)


def assign(person_id: str, *, now: datetime = NOW, due_at: datetime | None = None) -> None:
    check_may_be_assigned(find_candidate(a_company(), person_id, now=now, due_at=due_at), person_id, team_id=OPS)


def test_an_active_member_of_the_team_may_be_assigned() -> None:
    assign(EVA)


@pytest.mark.parametrize(
    ("person_id", "problem"),
    [
        ("p-nobody", UnknownAssigneeError),
        (DEPARTED, AssigneeNotEmployedError),
        (STARTS_LATER, AssigneeNotEmployedError),
        (ACCOUNTANT, AssigneeOutsideTeamError),
        (AWAY, AssigneeOutOfOfficeError),
    ],
)
def test_other_people_may_not_be_assigned(person_id: str, problem: type[ServiceError]) -> None:
    with pytest.raises(problem):
        assign(person_id)


def test_a_person_who_is_absent_on_the_due_day_may_not_be_assigned() -> None:
    with pytest.raises(AssigneeOutOfOfficeError):
        assign(AWAY, due_at=LAST_DAY_AWAY)


def test_a_person_who_returns_before_the_due_day_may_be_assigned() -> None:
    assign(AWAY, due_at=LAST_DAY_AWAY + timedelta(days=1))


def test_an_overdue_ticket_counts_as_due_today() -> None:
    with pytest.raises(AssigneeOutOfOfficeError):
        assign(AWAY, due_at=NOW - timedelta(days=5))
    assign(AWAY, now=LAST_DAY_AWAY + timedelta(days=1), due_at=NOW)


def test_employment_counts_today_and_not_on_the_due_day() -> None:
    assign(EVA, due_at=NOW + timedelta(days=60))
    with pytest.raises(AssigneeNotEmployedError):
        assign(STARTS_LATER, due_at=NOW + timedelta(days=60))
