"""Answers either contain an accepted value in one of its usual spellings or do not."""

from __future__ import annotations

import pytest

from companyos_approvalflow.answers import AcceptedValue, contains_accepted


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The vendor is VEN-104.", "VEN-104"),
        ("the vendor is ven-104", "VEN-104"),
        ("Vendor VEN 104, as on the contract.", "VEN-104"),
        ("\uff36\uff25\uff2e-104", "VEN-104"),
        ("Purpose: customer-support!", "customer support"),
        ("Customer Support (see the record)", "customer support"),
        ("It is RESTRICTED.", "restricted"),
    ],
)
def test_a_name_matches_in_any_case_and_with_any_punctuation(text: str, value: AcceptedValue) -> None:
    assert contains_accepted(text, [value])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The vendor is VEN-1042.", "VEN-104"),
        ("Prevention-104", "VEN-104"),
        ("The support for customers is fine.", "customer support"),
        ("It is unrestricted.", "restricted"),
        ("Everything has been checked and is in order.", "restricted"),
        ("", "restricted"),
    ],
)
def test_a_name_matches_as_a_complete_word_only(text: str, value: AcceptedValue) -> None:
    assert not contains_accepted(text, [value])


@pytest.mark.parametrize("value", [1200, 1200.0, "1200", "1,200.00"])
@pytest.mark.parametrize(
    "text",
    [
        "1200",
        "It is 1,200.00 EUR.",
        "EUR 1.200,00 a year",
        "1 200,00 \u20ac",
        "1\u202f200 EUR",
        "1'200.00",
        "EUR1200",
        "1200EUR.",
        "\u20ac1,200",
        "price: 1200.",
        "The budget (1,200), then 17 more",
        "1200days",
        "v1200",
    ],
)
def test_a_number_matches_in_any_common_spelling(text: str, value: AcceptedValue) -> None:
    assert contains_accepted(text, [value])


@pytest.mark.parametrize(
    ("values", "value"),
    [
        ([str(number) for number in range(1, 61)], 60),
        ([f"2026-03-{day:02}" for day in range(1, 32)], "2026-03-31"),
        ([f"VEN-{number}" for number in range(84, 105)], "VEN-104"),
    ],
)
def test_a_list_of_possible_values_matches_nothing(values: list[str], value: AcceptedValue) -> None:
    assert contains_accepted(" ".join(values[-3:]), [value])
    for separator in " ,./-:":
        assert not contains_accepted(separator.join(values), [value])


@pytest.mark.parametrize(
    "text", ["11,200.00", "1,200,000", "12000", "E-1200", "REC1200", "1200.5", "120", "twelve hundred", "1,200.01"]
)
def test_another_number_does_not_match(text: str) -> None:
    assert not contains_accepted(text, [1200])


def test_a_fraction_matches_with_point_and_comma() -> None:
    assert contains_accepted("The rate is 5.25 %.", [5.25])
    assert contains_accepted("5,25 percent", [5.25])
    assert not contains_accepted("525", [5.25])


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-31",
        "It expires on Tue 31 Mar 2026.",
        "31 March 2026",
        "31st of March 2026",
        "March 31, 2026",
        "31. March 2026",
        "31.03.2026",
        "31/3/2026",
        "03/31/2026",
        "2026/03/31",
        "2026-03-31T00:00:00Z",
    ],
)
def test_a_date_matches_in_any_common_spelling(text: str) -> None:
    assert contains_accepted(text, ["2026-03-31"])


@pytest.mark.parametrize("text", ["2026-03-30", "31 May 2026", "31 Mar 2027", "March 2026", "31.02.2026", "2026"])
def test_another_date_does_not_match(text: str) -> None:
    assert not contains_accepted(text, ["2026-03-31"])


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-02T08:40:00Z",
        "2026-03-02 08:40",
        "2 Mar 2026, 08:40",
        "at 8:40 on March 2, 2026",
        "2026-03-02T09:40:00+01:00",
        "2 March 2026, 8:40 am",
    ],
)
def test_a_time_matches_in_any_common_spelling(text: str) -> None:
    assert contains_accepted(text, ["2026-03-02T08:40:00Z"])


@pytest.mark.parametrize("text", ["2026-03-02", "08:40", "2026-03-02 08:41", "2 Mar 2026, 8:40 pm"])
def test_another_time_does_not_match(text: str) -> None:
    assert not contains_accepted(text, ["2026-03-02T08:40:00Z"])


def test_one_of_the_accepted_values_is_enough() -> None:
    assert contains_accepted("1,200.00 EUR", [120_000, 1200])
    assert contains_accepted("120,000 cents", [120_000, 1200])
    assert not contains_accepted("1,200.00 EUR", [])
