"""Arguments: spellings of choices, and messages for values that do not match their schema."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from companyos_shared.choices import Choice, same_choice
from companyos_shared.framework import IsoDateText, JsonInteger, UtcTime
from companyos_shared.framework.errors import invalid_reason


class Colour(Choice):
    RED = "red"
    BLUE = "blue"


class Body(BaseModel):
    text: Annotated[str, Field(min_length=1, max_length=3, pattern="^a")] = "a"
    items: Annotated[list[str], Field(min_length=1, max_length=2)] = ["a"]
    fields: Annotated[dict[str, int], Field(max_length=1)] = {}
    count: Annotated[int, Field(ge=1, le=50)] = 1
    share: float = 0.0
    flag: bool = False
    day: Annotated[date, Field(ge=date(1970, 1, 1))] = date(2026, 1, 1)
    due_at: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    iso_day: Annotated[date, IsoDateText] = date(2026, 1, 1)
    moment: UtcTime = datetime(2026, 1, 1, tzinfo=UTC)
    colour: Colour = Colour.RED
    amount: Annotated[int, Field(ge=0), JsonInteger] = 0


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("colour", "green", 'must be one of red, blue; got "green"'),
        ("text", "", 'must have at least 1 character; got ""'),
        ("text", "abcd", 'must have at most 3 characters; got "abcd"'),
        ("text", "b", 'must match the pattern ^a; got "b"'),
        ("text", 5, "must be a string; got 5"),
        ("items", [], "must have at least 1 item; got []"),
        ("items", ["a", "b", "c"], 'must have at most 2 items; got ["a", "b", "c"]'),
        ("items", "a", 'must be an array; got "a"'),
        ("fields", [1], "must be an object; got [1]"),
        ("fields", {"a": 1, "b": 2}, 'must have at most 1 item; got {"a": 1, "b": 2}'),
        ("count", 0, "must be at least 1; got 0"),
        ("count", 51, "must be at most 50; got 51"),
        ("count", "ten", 'must be an integer; got "ten"'),
        ("count", 1.5, "must be an integer; got 1.5"),
        ("amount", True, "must be an integer; got true"),
        ("amount", "5", 'must be an integer; got "5"'),
        ("share", "half", 'must be a number; got "half"'),
        ("flag", "maybe", 'must be true or false; got "maybe"'),
        ("day", "1960-01-01", 'must be at least 1970-01-01; got "1960-01-01"'),
        ("day", "2026-13-01", 'must be a date such as 2026-03-31; got "2026-13-01"'),
        ("due_at", "2026-13-01", 'must be a time such as 2026-03-31T09:00:00Z; got "2026-13-01"'),
        ("iso_day", "soon", 'must be a date such as 2026-03-31; got "soon"'),
        ("iso_day", "2026-13-01", 'must be a date such as 2026-03-31; got "2026-13-01"'),
        ("moment", "soon", 'must be an ISO date or time such as 2026-03-31 or 2026-03-31T09:00:00Z; got "soon"'),
    ],
)
def test_the_reason_states_the_accepted_values(field: str, value: Any, reason: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Body(**{field: value})
    assert invalid_reason(raised.value.errors()[0]) == reason


def test_a_json_number_without_a_fraction_is_an_integer() -> None:
    assert Body.model_validate({"amount": 5.0}).amount == 5


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
