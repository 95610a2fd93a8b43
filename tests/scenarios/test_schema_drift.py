"""The published tables of drift, compared with the tools of the services."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from companyos.policies import Call, StepView, TaskView
from companyos_gateway.chaos import Drift, Kind
from companyos_gateway.chaos.drift import draw_field_names, draw_tool_descriptions, rewordings, synonyms
from companyos_gateway.engine.toolbox import Tool, Toolbox, build_toolbox
from companyos_gateway.scenarios import catalogue
from companyos_players.registry import IGNORES_FIELD_NAMES, ablation_of, adversaries_of, fair_player
from companyos_shared.framework import create_app
from companyos_shared.streams import Stream
from tests.scenarios.engine import EpisodeSpec, PlayAll
from verification.in_process import installed_services
from verification.proof.players.oracles import privileged_oracle

MAX_TOKENS = 8000
"""Limit of the schemas of all tools together, which an agent with `toolset="all"` reads at the start."""

BYTES_PER_TOKEN = 4
PLAYED = "license_renewal"
RENAMED = {Kind.RENAMED_FIELDS.value: 1.0}
FORCED = {**RENAMED, Kind.REWORDED_TOOLS.value: 1.0}


@pytest.fixture(scope="module")
def toolbox() -> Toolbox:
    documents = {name: create_app(service).openapi() for name, service in installed_services().items()}
    return build_toolbox(documents, {"type": "object"})


def _answers(toolbox: Toolbox, service: str) -> set[str]:
    return {name for tool in _tools_of(toolbox, service) for name in tool.operation.response_fields if tool.operation}


def _tools_of(toolbox: Toolbox, service: str) -> Iterator[Any]:
    return (tool for tool in toolbox if tool.operation is not None and tool.operation.service == service)


@pytest.mark.parametrize("service", sorted(synonyms()))
def test_usual_field_names_exist_and_their_synonyms_are_unused(toolbox: Toolbox, service: str) -> None:
    answers = _answers(toolbox, service)
    others = [name for names in synonyms()[service].values() for name in names]
    assert set(synonyms()[service]) <= answers
    assert not set(others) & answers
    assert all(len(names) >= 2 for names in synonyms()[service].values())


def test_reworded_tool_descriptions_are_at_most_15_characters_longer(toolbox: Toolbox) -> None:
    for name, texts in rewordings().items():
        tool = toolbox.tool(name)
        assert tool is not None, name
        assert all(text != tool.description and len(text) <= len(tool.description) + 15 for text in texts), name


def test_the_schemas_stay_within_their_token_limit_under_drift(toolbox: Toolbox) -> None:
    remedy = "shorten descriptions, or raise the limit and the target in verification/benchmarks/enterprise.py"
    for seed in range(50):
        stream = Stream("drift", seed)
        drift = Drift(draw_field_names(stream.child("names")), draw_tool_descriptions(stream.child("words")))
        assert _tokens([tool.with_drift(drift) for tool in toolbox]) <= MAX_TOKENS, remedy


def test_names_and_arguments_of_tools_do_not_drift(toolbox: Toolbox) -> None:
    drift = Drift(draw_field_names(Stream("drift", 1)), draw_tool_descriptions(Stream("drift", 2)))
    for tool in toolbox:
        with_drift = tool.with_drift(drift)
        assert (with_drift.name, with_drift.input_schema) == (tool.name, tool.input_schema)


def test_an_agent_that_reads_the_descriptions_succeeds_and_one_that_does_not_fails(play_all: PlayAll) -> None:
    seen: list[str] = []

    async def watched(task: TaskView, call: Call) -> None:
        seen.extend(tool.description for tool in task.tools)

        async def noted(tool: str, arguments: dict[str, Any], /) -> StepView:
            view = await call(tool, arguments)
            seen.append(json.dumps(view.result))
            return view

        await fair_player(PLAYED)(task, noted)

    players = (watched, adversaries_of(PLAYED).players[IGNORES_FIELD_NAMES])
    specs = [EpisodeSpec(scenario=PLAYED, player=player, seed=4, chaos=0, overrides=FORCED) for player in players]
    reading, ignoring = play_all(specs)
    assert reading.result.success
    assert not ignoring.result.success
    renamed = reading.instance.drift.names["ticketdesk"]["status"]
    assert any(f"`status` is called `{renamed}`" in text for text in seen)
    assert any(f'"{renamed}":' in text for text in seen)


def test_the_privileged_oracle_succeeds_under_drift(play_all: PlayAll) -> None:
    scenario = catalogue()[PLAYED]
    seed = next(seed for seed in range(50) if scenario.plan(seed, 4).drift.names)
    player = privileged_oracle(PLAYED, seed, 4)
    assert play_all([EpisodeSpec(scenario=PLAYED, player=player, seed=seed, chaos=4)])[0].result.success


def _tokens(tools: list[Tool]) -> int:
    shown = [{"name": tool.name, "description": tool.description, "input_schema": tool.input_schema} for tool in tools]
    return len(json.dumps(shown, separators=(",", ":"), ensure_ascii=False).encode()) // BYTES_PER_TOKEN


@pytest.mark.parametrize("seed", range(20))
def test_renamed_fields_are_restored(seed: int) -> None:
    drift = Drift(names=draw_field_names(Stream("drift", seed)))
    for service, table in synonyms().items():
        response = {"items": [{name: {"fields": {name: 1}} for name in table}], "fields": dict.fromkeys(table, 2)}
        renamed = drift.rename_response_fields(service, response)
        assert renamed != response
        assert drift.restore_response_fields(service, renamed) == response


@pytest.mark.parametrize("seed", range(10))
def test_a_metrics_report_has_a_renamed_time_if_any_field_is_renamed(seed: int) -> None:
    instance = catalogue()["metrics_report"].plan(seed, 1, RENAMED)
    assert "as_of" in instance.drift.names["datahub"]
    assert not catalogue()["metrics_report"].plan(seed, 1, dict.fromkeys(RENAMED, 0.0)).drift.names


@pytest.mark.parametrize("seed", range(3))
def test_an_agent_that_assumes_the_usual_field_names_fails_in_every_metrics_report(
    seed: int, play_all: PlayAll
) -> None:
    skipper = ablation_of("metrics_report", Kind.RENAMED_FIELDS)
    assert skipper is not None
    players = (fair_player("metrics_report"), skipper)
    specs = [
        EpisodeSpec(scenario="metrics_report", player=player, seed=seed, chaos=1, overrides=RENAMED)
        for player in players
    ]
    fair, skips = play_all(specs)
    assert fair.result.success
    assert not skips.result.success
