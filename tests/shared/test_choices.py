"""Choices: spellings that count as the same."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from companyos_shared.choices import Choice, same_choice


class Tier(Choice):
    LOW = "low"
    VERY_HIGH = "very_high"


@pytest.mark.parametrize("text", ["very_high", "Very_high", "VERY_HIGH", "Very high", "very High"])
def test_a_choice_is_parsed_in_any_letter_case_and_as_a_page_shows_it(text: str) -> None:
    read = TypeAdapter(Tier).validate_python(text)
    assert read is Tier.VERY_HIGH
    assert Tier(text) is read
    assert TypeAdapter(Tier).dump_json(read) == b'"very_high"'


@pytest.mark.parametrize("text", ["veryhigh", "very-high", " low", "", "lows"])
def test_an_invalid_choice_is_rejected(text: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Tier).validate_python(text)


def test_the_schema_names_only_the_stored_spellings() -> None:
    assert TypeAdapter(Tier).json_schema()["enum"] == ["low", "very_high"]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("medium", "Medium", True),
        ("In progress", "in_progress", True),
        ("Acme Ltd", "Acme Ltd", True),
        ("Acme Ltd", "ACME LTD", False),
        ("VEN-207", "ven-207", False),
        ("a@b.example", "A@b.example", False),
        ("medium", "mediums", False),
        ("", "", True),
    ],
)
def test_choices_are_compared_in_any_letter_case_and_other_text_exactly(one: str, other: str, is_same: bool) -> None:
    assert same_choice(one, other) is is_same
    assert same_choice(other, one) is is_same
