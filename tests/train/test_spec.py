"""Inputs of a GRPOTrainer: rows, environments with tools, rewards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from transformers.utils import get_json_schema

from companyos.errors import ApiError
from companyos.integrations.trl import CompanyOSSpec
from companyos.policies import EpisodeOverError

SCENARIO = "bug_escalation"


@pytest.fixture
def spec(url: str) -> Iterator[CompanyOSSpec]:
    with CompanyOSSpec(url, "train", 0, scenario=SCENARIO, count=2) as spec:
        yield spec


def test_a_row_of_the_dataset_is_a_task_and_a_prompt(spec: CompanyOSSpec) -> None:
    row = spec.train_dataset[0]
    assert (row["task_id"], row["scenario"], row["chaos"]) == ("train.bug_escalation.0.00", SCENARIO, 0)
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    assert len(spec.train_dataset) == 2


def test_a_reset_describes_the_task_and_can_be_repeated(spec: CompanyOSSpec) -> None:
    environment = spec.environment(spec.rows[0])
    output = environment.reset(**spec.train_dataset[0])
    assert "Your employee id: E-" in output
    assert environment.reset(**spec.train_dataset[0]) == output


def test_transformers_can_read_the_schemas_of_the_tools(spec: CompanyOSSpec) -> None:
    environment = spec.environment(spec.rows[0])
    read = {tool.name: get_json_schema(getattr(environment, tool.name))["function"] for tool in environment._offered}
    for tool in environment._offered:
        assert read[tool.name]["description"] == tool.description
        assert read[tool.name]["parameters"].get("required", []) == tool.input_schema.get("required", [])
    assert len(read) > 30


def test_results_are_json_and_a_call_after_the_end_raises(spec: CompanyOSSpec) -> None:
    environment = spec.environment(spec.rows[0])
    environment.reset(**spec.rows[0])
    refused = json.loads(environment.ticketdesk_get_ticket(key="NO-1"))  # type: ignore[attr-defined]
    assert refused["result"]["code"] == "ticket-not-found"
    assert json.loads(environment.wait(minutes="soon"))["error"] == "invalid_args"  # type: ignore[attr-defined]
    last = json.loads(environment.finish(outcome="done", summary="Nothing."))  # type: ignore[attr-defined]
    assert last["done"]
    with pytest.raises(EpisodeOverError, match="the episode is over"):
        environment.wait(minutes=5)  # type: ignore[attr-defined]


def test_rewards_are_returns_and_costs_of_unknown_tools(spec: CompanyOSSpec) -> None:
    environment = spec.environment(spec.rows[0])
    environment.reset(**spec.rows[0])
    environment.wait(minutes=5)  # type: ignore[attr-defined]
    made = [[{"role": "assistant", "tool_calls": [{"function": {"name": "fly", "arguments": {}}}]}]]
    logged: dict[str, float] = {}
    returned, unknown = (
        reward(environments=[environment], completions=made, log_metric=logged.__setitem__)
        for reward in spec.reward_funcs
    )
    assert returned == [pytest.approx(-0.1 - 0.1 - 5.0)]  # a step, giving up, and its penalty
    assert unknown == [-1.0]
    assert logged["stages/invalid_calls"] == pytest.approx(1 / 3)


def test_levels_are_ordered_from_the_lowest(url: str) -> None:
    with CompanyOSSpec(url, "train", (2, 0), scenario=SCENARIO, count=3) as spec:
        assert [row["chaos"] for row in spec.rows] == [0, 0, 0, 2, 2, 2]


def test_scenarios_with_different_tools_have_separate_environments(url: str) -> None:
    with CompanyOSSpec(url, "validation", 0, scenario=("metrics_report", SCENARIO), count=1) as spec:
        assert set(spec.environment_factory) == {"metrics_report", SCENARIO}  # type: ignore[arg-type]
        assert {row["environment"] for row in spec.rows} == {"metrics_report", SCENARIO}
        offered = [len(spec.environment(row)._offered) for row in spec.rows]
        assert offered[0] != offered[1]


def test_a_reset_lists_tools_with_changed_descriptions(url: str) -> None:
    with CompanyOSSpec(url, chaos=3, scenario=SCENARIO, seeds=range(30)) as spec:
        environment = spec.environment(spec.rows[0])
        output = (environment.reset(**row) for row in spec.rows)
        changed = next(text for text in output if "described differently" in text)
        assert "\n- " in changed


def test_seeds_require_a_scenario_and_a_level() -> None:
    with pytest.raises(ValueError, match="seeds require scenario and chaos"):
        CompanyOSSpec(seeds=range(3))


@pytest.mark.parametrize("scenario", ["shift-day", "vendor_onboarding-large"])
def test_shifts_and_larger_companies_have_tasks_in_a_split(url: str, scenario: str) -> None:
    with CompanyOSSpec(url, "train", (0, 2), scenario=(scenario, SCENARIO), count=1) as spec:
        rows = [row["task_id"] for row in spec._split_rows()]
    assert rows == [f"train.{name}.{level}.00" for level in (0, 2) for name in sorted((scenario, SCENARIO))]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"split": "trian"}, "split must be one of train, validation, test; got 'trian'"),
        ({"toolset": "x"}, "toolset must be one of all, task; got 'x'"),
        ({"reward_scale": "x"}, "reward_scale must be one of original, unit; got 'x'"),
        ({"count": 0}, "count must be at least 1; got 0"),
        ({"chaos": 0, "scenario": SCENARIO, "seeds": []}, "seeds must not be empty"),
    ],
)
def test_an_argument_that_is_not_accepted_is_named_with_its_value(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        CompanyOSSpec(**arguments)


def test_an_unknown_scenario_or_level_of_a_split_is_named(url: str) -> None:
    with CompanyOSSpec(url, "train", scenario="nope") as spec, pytest.raises(ApiError, match="named 'nope'"):
        len(spec.rows)
    text = "chaos must be among 0, 1, 2, 3, 4, the levels of train.bug_escalation; got 7"
    with CompanyOSSpec(url, "train", (0, 7), scenario=SCENARIO) as spec, pytest.raises(ValueError, match=text):
        len(spec.rows)
