"""Formatting of page values."""

from __future__ import annotations

import pytest

from companyos_shared.pages.rendering import (
    duration,
    field_label,
    figure,
    form_argument,
    format_value,
    label,
    status_colour,
)


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (0, "0 min"),
        (59.9, "59 min"),
        (60, "1 h"),
        (90, "1 h 30 min"),
        (2880, "2 d"),
        (2945, "2 d 1 h"),
        (1441, "1 d 1 min"),
    ],
)
def test_a_length_of_time_is_told_in_its_two_largest_units(minutes: float, text: str) -> None:
    assert duration(minutes) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (1250000.0, "1,250,000"),
        (2.5, "2.5"),
        (0.1234567, "0.1235"),
        (0.00004, "4e-05"),
        (-0.00012, "-0.00012"),
    ],
)
def test_a_number_is_told_without_decimals_that_say_nothing(value: float | None, text: str) -> None:
    assert figure(value) == text


def test_a_state_that_no_colour_is_known_for_is_grey() -> None:
    assert (status_colour("stale"), status_colour("of its own")) == ("yellow", "secondary")


def test_a_closed_ticket_is_done_and_a_closed_episode_was_given_up() -> None:
    assert (status_colour("closed"), status_colour("closed", "outcome")) == ("green", "yellow")


def test_a_name_of_the_code_is_told_in_words() -> None:
    assert [label(name) for name in ("in_progress", "hr_lead", "cfo", "", None)] == [
        "In progress",
        "HR lead",
        "CFO",
        "-",
        "-",
    ]


def test_a_field_is_worded_shown_and_called_by_its_name_and_type() -> None:
    assert field_label("annual_cost_cents") == "Annual cost"
    assert [
        format_value("cost_cents", 125_050),
        format_value("count", 1250),
        format_value("is_on", False),
        format_value("text", ""),
    ] == [
        "1,250.50",
        "1250",
        "No",
        "-",
    ]
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
        "fields.day",
    ]
    assert form_argument("<b>", "text") is None
