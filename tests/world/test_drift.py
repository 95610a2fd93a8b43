"""Drift: renamed response fields and reworded tool descriptions."""

from __future__ import annotations

import pytest

from companyos_gateway.chaos import Drift
from companyos_gateway.chaos.drift import (
    ALWAYS_RENAMED,
    MAX_RENAMED,
    draw_field_names,
    draw_tool_descriptions,
    rewordings,
    synonyms,
)
from companyos_shared.streams import Stream

DRIFT = Drift({"datahub": {"parameters": "figures", "as_of": "measured_at"}}, {"datahub_get_policy": "Read a policy."})


def test_fields_are_renamed_at_every_depth_and_only_in_that_service() -> None:
    answer = {"items": [{"as_of": 1, "id": "x"}], "as_of": 2}
    assert DRIFT.rename_response_fields("datahub", answer) == {
        "items": [{"measured_at": 1, "id": "x"}],
        "measured_at": 2,
    }
    assert DRIFT.rename_response_fields("ticketdesk", answer) == answer
    assert answer["as_of"] == 2


def test_fields_named_by_companies_are_not_renamed() -> None:
    answer = {"parameters": {"as_of": 3, "parameters": 4}, "fields": {"as_of": 5}}
    assert DRIFT.rename_response_fields("datahub", answer) == {
        "figures": {"as_of": 3, "parameters": 4},
        "fields": {"as_of": 5},
    }


def test_lists_of_objects_are_renamed_even_under_a_company_field_name() -> None:
    assert DRIFT.rename_response_fields("datahub", {"fields": [{"as_of": 1}]}) == {"fields": [{"measured_at": 1}]}


@pytest.mark.parametrize("answer", [None, 3, "as_of", ["as_of"]])
def test_values_are_not_changed(answer: object) -> None:
    assert DRIFT.rename_response_fields("datahub", answer) == answer


def test_the_description_of_a_tool_lists_its_renamed_response_fields() -> None:
    output = DRIFT.describe_tool("datahub_query_metric", "datahub", "Read a metric.", {"as_of", "value"})
    assert output == "Read a metric. In responses, `as_of` is called `measured_at`."
    assert DRIFT.describe_tool("datahub_get_policy", "datahub", "Show it.", set()) == "Read a policy."
    assert DRIFT.describe_tool("wait", None, "Wait.", set()) == "Wait."


def test_names_and_descriptions_are_drawn_from_their_tables() -> None:
    for seed in range(60):
        names, words = draw_field_names(Stream("drift", seed)), draw_tool_descriptions(Stream("drift", seed))
        assert names.keys() == synonyms().keys()
        for service, table in names.items():
            assert 1 <= len(table) <= MAX_RENAMED
            assert all(name in synonyms()[service][usual] for usual, name in table.items())
            assert ALWAYS_RENAMED.get(service, next(iter(table))) in table
            assert len(set(table.values())) == len(table)
        assert all(text in rewordings()[tool] for tool, text in words.items())
