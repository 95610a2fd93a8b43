"""Values on pages: their labels and formats; shown values can be typed in, and unreadable input stays as typed."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companyos_shared.pages.rendering import (
    field_label,
    form_argument,
    label,
    link_ids,
    status_colour,
)
from companyos_shared.pages.values import (
    day,
    duration,
    figure,
    format_value,
    moment,
    money,
    parse_day,
    parse_integer,
    parse_moment,
    parse_money,
    parse_number,
)

YEARS = {"min_value": date(1900, 1, 1), "max_value": date(2199, 12, 31)}
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2199, 12, 31)).map(  # noqa: DTZ001  # hypothesis asks for these
    lambda at: at.replace(microsecond=0, tzinfo=UTC)
)


@given(at=MOMENTS)
def test_a_shown_time_can_be_parsed(at: datetime) -> None:
    written = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert parse_moment(moment(at)) == parse_moment(f"{moment(at)} UTC") == parse_moment(written) == written


@given(on=st.dates(**YEARS))
def test_a_shown_day_can_be_parsed(on: date) -> None:
    assert parse_day(day(on)) == parse_day(day(on).partition(" ")[2]) == parse_day(on.isoformat()) == on.isoformat()


@given(cents=st.integers(-(10**15), 10**15) | st.floats(-1e12, 1e12))
def test_a_shown_amount_can_be_parsed(cents: float) -> None:
    assert (
        parse_money(money(cents)) == parse_money(f"{money(cents)} EUR") == parse_money(f"EUR {money(cents)}") == cents
    )


@given(
    number=st.floats(-1e15, 1e15),
    unit=st.sampled_from(["", " %", "%", " percent", " errors per 1,000 requests", "  points\n"]),
)
def test_a_shown_number_can_be_parsed(number: float, unit: str) -> None:
    assert parse_number(f"{figure(number)}{unit}") == number


@given(number=st.integers(-(10**15), 10**15))
def test_a_shown_integer_can_be_parsed(number: int) -> None:
    assert parse_integer(f"{number:,}") == parse_integer(str(number)) == number


@pytest.mark.parametrize("text", ["31 Feb 2027, 09:22", "1 Jun 2027, 9:22", "1 Jun 2027", "soon", "", "2027-06-01"])
def test_text_that_is_not_a_time_is_returned_unchanged(text: str) -> None:
    assert parse_moment(text) == text


@pytest.mark.parametrize("text", ["31 Feb 2027", "Mon 1 Jun 2027", "1 Jun 2027, 09:22", "June", "1 Jun 27"])
def test_text_that_is_not_a_day_is_returned_unchanged(text: str) -> None:
    assert parse_day(text) == text


@pytest.mark.parametrize("text", ["1,25.00", "EUR", "EUR 5 USD", "1.250,00", "12 euros", "1e3", "9" * 30])
def test_text_that_is_not_an_amount_is_returned_unchanged(text: str) -> None:
    assert parse_money(text) == text


@pytest.mark.parametrize(
    "text", ["1,25", "12 of 20", "5k", "2 million", "3 or 4", "3M", "many", "nan", "1e400", "1e-400", "9" * 30]
)
def test_text_that_is_not_a_number_is_returned_unchanged(text: str) -> None:
    assert parse_number(text) == text
    assert parse_integer(text) == text


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (0, "0 min"),
        (59.9, "59 min"),
        (60, "1 h"),
        (90, "1 h 30 min"),
        (2880, "2 days"),
        (2945, "2 days 1 h"),
        (1441, "1 day 1 min"),
    ],
)
def test_a_duration_is_shown_in_its_two_largest_units(minutes: float, text: str) -> None:
    assert duration(minutes) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (1250000.0, "1,250,000"), (2.5, "2.5"), (0.1234567, "0.1234567"), (0.00004, "0.00004")],
)
def test_a_number_is_shown_with_all_of_its_decimals(value: float | None, text: str) -> None:
    assert figure(value) == text


@pytest.mark.parametrize(
    ("name", "value", "kind", "text"),
    [
        ("cost_cents", 125_050, "integer", "1,250.50"),
        ("count", 1250, "integer", "1250"),
        ("rate_cents", 1250, "number", "12.50"),
        ("rate_cents", 1250.5, "number", "12.505"),
        ("is_on", False, "boolean", "No"),
        ("note", "", "text", "-"),
        ("signed_on", "2026-03-31", "date", "Tue 31 Mar 2026"),
        ("checked_at", "2026-03-02T10:40:00+02:00", "datetime", "2 Mar 2026, 08:40"),
        ("signed_on", "in spring", "date", "in spring"),
        ("parts", ["a", "b"], "text", '["a", "b"]'),
    ],
)
def test_a_field_is_shown_by_its_name_and_type(name: str, value: object, kind: str, text: str) -> None:
    assert format_value(name, value, kind) == text


def test_a_state_without_a_colour_is_grey() -> None:
    assert (status_colour("stale"), status_colour("of its own")) == ("yellow", "secondary")


def test_a_closed_ticket_is_green_and_a_closed_episode_is_not() -> None:
    assert (status_colour("closed"), status_colour("closed", "outcome")) == ("green", "yellow")


def test_an_identifier_is_shown_as_words() -> None:
    assert [label(name) for name in ("in_progress", "hr_lead", "cfo", "", None)] == [
        "In progress",
        "HR lead",
        "CFO",
        "-",
        "-",
    ]


def test_a_field_label_is_derived_from_its_name_and_type() -> None:
    assert field_label("annual_cost_cents") == "Annual cost"
    assert field_label("order_id") == "Order ID"
    calls = [
        ("cost_cents", "integer"),
        ("count", "integer"),
        ("share", "number"),
        ("is_on", "boolean"),
        ("day", "date"),
    ]
    assert [form_argument(name, kind) for name, kind in calls] == [
        "fields.cost_cents:cents",
        "fields.count:int",
        "fields.share:number",
        "fields.is_on:flag",
        "fields.day:date",
    ]
    assert form_argument("<b>", "text") is None


def test_each_id_in_a_text_is_a_link_and_the_text_is_escaped() -> None:
    text = "<b>VEN-104</b> & E-12, not ven-104, X-1 or VEN-104b"
    link = '<a href="/apps/-/open?id={0}">{0}</a>'
    assert link_ids("/apps", text) == (
        f"&lt;b&gt;{link.format('VEN-104')}&lt;/b&gt; &amp; {link.format('E-12')}, not ven-104, X-1 or VEN-104b"
    )
    assert link_ids(None, text) == "&lt;b&gt;VEN-104&lt;/b&gt; &amp; E-12, not ven-104, X-1 or VEN-104b"
