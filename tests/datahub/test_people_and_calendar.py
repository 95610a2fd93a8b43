"""People and the calendar over HTTP."""

from __future__ import annotations

import pytest

from companyos_shared.framework.testing import ServiceHarness
from tests.datahub.builders import ids, problem


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"query": "mara"}, ["E-1002"]),
        ({"query": "aria"}, []),
        ({"query": "halvorsen"}, ["E-1001"]),
        ({"query": "Mara.Lindqvist@halvorsen.example"}, ["E-1002"]),
        ({"query": "lead engineer"}, ["E-1007", "E-1008", "E-1009"]),
        ({"query": "security lead"}, ["E-1007", "E-1008"]),
        ({"query": "finance"}, ["E-1002", "E-1003"]),
        ({"role": "cto"}, ["E-1006"]),
        ({"role": "legal_counsel"}, []),
        ({"team_id": "T-ENG"}, ["E-1006", "E-1007", "E-1009"]),
        ({"team_id": "T-ENG", "query": "novak"}, ["E-1009"]),
    ],
)
async def test_people_are_found_by_words_role_and_team(
    hub: ServiceHarness, filters: dict[str, str], expected: list[str]
) -> None:
    assert ids(await hub.get("/people", params=filters)) == expected


@pytest.mark.parametrize("path", ["/people", "/records", "/policies"])
async def test_a_query_without_words_is_rejected_and_an_empty_query_is_ignored(hub: ServiceHarness, path: str) -> None:
    assert problem(await hub.get(path, params={"query": "?!"})) == (422, "query-blank")
    everything = (await hub.get(path)).json()
    assert (await hub.get(path, params={"query": ""})).json() == everything


async def test_the_directory_is_paginated(hub: ServiceHarness) -> None:
    first = (await hub.get("/people", params={"limit": 8})).json()
    assert first["total"] == 10
    assert ids(await hub.get("/people", params={"cursor": first["next_cursor"]})) == ["E-1009", "E-1010"]


async def test_a_former_employee_remains_in_the_directory(hub: ServiceHarness) -> None:
    person = (await hub.get("/people/E-1009")).json()
    assert (person["is_employed"], person["employed_to"], person["team_name"]) == (False, "2026-01-31", "Platform")


async def test_a_person_is_shown_with_roles_and_absence(hub: ServiceHarness) -> None:
    person = (await hub.get("/people/E-1002")).json()
    assert person["out_of_office"] is True
    assert person["roles"] == [{"role": "cfo", "first_day": "2021-01-01", "last_day": None, "deputy_id": "E-1003"}]


async def test_an_unknown_person_is_not_found(hub: ServiceHarness) -> None:
    assert problem(await hub.get("/people/E-1")) == (404, "person-not-found")
    assert problem(await hub.get("/calendar", params={"person_id": "E-1"})) == (404, "person-not-found")


async def test_an_absent_approver_has_a_return_date_and_a_deputy(hub: ServiceHarness) -> None:
    assert (await hub.get("/approvers/cfo")).json() == {
        "role": "cfo",
        "holders": [
            {
                "person": {"id": "E-1002", "name": "Mara Lindqvist"},
                "out_of_office": True,
                "back_on": "2026-03-09",
                "deputy": {"id": "E-1003", "name": "Tomas Okafor"},
                "deputy_out_of_office": False,
            }
        ],
    }


async def test_a_deputy_can_be_absent_too(hub: ServiceHarness) -> None:
    await hub.advance(minutes=7 * 24 * 60)
    holder = (await hub.get("/approvers/cto")).json()["holders"][0]
    assert (holder["out_of_office"], holder["deputy"]["id"], holder["deputy_out_of_office"]) == (False, "E-1007", True)


async def test_a_role_may_have_no_holder_but_must_be_a_known_role(hub: ServiceHarness) -> None:
    assert (await hub.get("/approvers/legal_counsel")).json() == {"role": "legal_counsel", "holders": []}
    assert problem(await hub.get("/approvers/king")) == (422, "invalid-arguments")


async def test_the_calendar_shows_four_weeks_without_reasons_of_absences(hub: ServiceHarness) -> None:
    calendar = (await hub.get("/calendar")).json()
    assert (calendar["first_day"], calendar["last_day"], calendar["total"]) == ("2026-03-02", "2026-03-29", 2)
    assert calendar["items"][0] == {
        "person_id": "E-1002",
        "name": "Mara Lindqvist",
        "first_day": "2026-02-26",
        "last_day": "2026-03-06",
    }


async def test_the_calendar_can_be_filtered_by_person_and_period(hub: ServiceHarness) -> None:
    parameters = {"person_id": "E-1007", "from": "2026-03-13", "to": "2026-04-30"}
    calendar = (await hub.get("/calendar", params=parameters)).json()
    assert [absence["person_id"] for absence in calendar["items"]] == ["E-1007"]
    assert [holiday["day"] for holiday in calendar["holidays"]] == ["2026-04-03", "2026-04-06"]


@pytest.mark.parametrize(
    ("period", "code"),
    [
        ({"from": "2026-03-05", "to": "2026-03-04"}, "period-not-allowed"),
        ({"from": "2026-03-05", "to": "2027-03-06"}, "period-not-allowed"),
        ({"to": "2026-03-01"}, "period-not-allowed"),
        ({"from": "9999-12-31"}, "invalid-arguments"),
        ({"from": "today"}, "invalid-arguments"),
    ],
)
async def test_an_invalid_period_is_rejected(hub: ServiceHarness, period: dict[str, str], code: str) -> None:
    assert problem(await hub.get("/calendar", params=period)) == (422, code)


async def test_a_day_out_of_range_is_rejected_with_the_limit_as_a_date(hub: ServiceHarness) -> None:
    answers = [await hub.get("/calendar", params={"from": day}) for day in ("2200-01-01", "1969-12-31")]
    assert [answer.json()["detail"] for answer in answers] == [
        'from must be at most 2199-12-31; got "2200-01-01"',
        'from must be at least 1970-01-01; got "1969-12-31"',
    ]


@pytest.mark.parametrize("written", ["0", "86400", "-1"])
async def test_seconds_since_1970_are_not_a_valid_date(hub: ServiceHarness, written: str) -> None:
    assert problem(await hub.get("/calendar", params={"from": written})) == (422, "invalid-arguments")
    answer = await hub.patch("/records/CON-41", json={"ends_on": int(written)})
    assert problem(answer) == (422, "invalid-arguments")
