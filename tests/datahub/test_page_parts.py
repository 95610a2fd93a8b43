"""Page components: chart, organisation trees and calendar weeks."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from companyos_datahub.calendar.rules import PeriodNotAllowedError
from companyos_datahub.main import SERVICE
from companyos_datahub.metrics.schemas import EarlierValue
from companyos_datahub.pages.calendar import month_of
from companyos_datahub.pages.metrics import SIDE, WIDTH, chart_of
from companyos_datahub.pages.people import MAX_PEOPLE, Node, reporting_lines
from tests.datahub.builders import NOON

TODAY = date(2026, 3, 2)


def _values(*values: float) -> list[EarlierValue]:
    return [EarlierValue(value=value, as_of=NOON + timedelta(days=number)) for number, value in enumerate(values)]


def test_a_chart_runs_from_the_oldest_to_the_newest_value() -> None:
    chart = chart_of(list(reversed(_values(3, 9, 5))))
    assert chart is not None
    assert [point.value for point in chart.points] == [3, 9, 5]
    assert (chart.first.x, chart.last.x) == (SIDE, WIDTH - SIDE)
    assert chart.highest.y < chart.last.y < chart.lowest.y


def test_one_value_has_no_chart_and_equal_values_are_a_horizontal_line() -> None:
    assert chart_of(_values(4)) is None
    level = chart_of(_values(4, 4))
    assert level is not None
    assert level.first.y == level.last.y


def test_every_employee_appears_once_in_the_reporting_lines() -> None:
    company = SERVICE.demo_seed().company
    placed = _ids(reporting_lines(company, TODAY))
    assert sorted(placed) == sorted(person.id for person in company.people if person.is_employed(TODAY))


def test_the_chart_of_a_large_company_shows_the_subtree_of_the_caller() -> None:
    company = SERVICE.demo_seed().company
    others = [
        company.people[0].model_copy(update={"id": f"E-{number}", "manager_id": None})
        for number in range(5000, 5001 + MAX_PEOPLE)
    ]
    large = company.model_copy(update={"people": (*company.people, *others)})
    whole, placed = set(_ids(reporting_lines(company, TODAY))), set(_ids(reporting_lines(large, TODAY)))
    assert company.agent_id in placed <= whole


def test_people_who_report_to_each_other_are_included() -> None:
    company = SERVICE.demo_seed().company
    circle = {"E-1001": "E-1002"}
    people = [
        person.model_copy(update={"manager_id": circle.get(person.id, person.manager_id)}) for person in company.people
    ]
    lines = reporting_lines(company.model_copy(update={"people": tuple(people)}), TODAY)
    assert len(set(_ids(lines))) == len(_ids(lines)) == 9


def test_a_month_has_its_first_and_last_day() -> None:
    assert month_of("", today=TODAY).last == date(2026, 3, 31)
    assert month_of("2028-02", today=TODAY).last == date(2028, 2, 29)
    with pytest.raises(PeriodNotAllowedError):
        month_of("march", today=TODAY)


def _ids(nodes: list[Node] | tuple[Node, ...]) -> list[str]:
    return [one for node in nodes for one in (node.person.id, *_ids(node.reports))]
