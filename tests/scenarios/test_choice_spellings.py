"""Choices as pages show them, such as `Medium` and `In progress` for `in_progress`: the oracles still succeed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from companyos.policies import Call, StepView, TaskView
from companyos_players.registry import fair_player
from companyos_shared.choices import is_choice
from companyos_shared.pages.rendering import label
from tests.scenarios.engine import EpisodeSpec, PlayAll
from tests.scenarios.oracle_traces import LEVEL, OracleTrace
from verification.privileged.outcome_oracle import privileged_player

pytestmark = pytest.mark.matrix

Spell = Callable[[str], str]


@pytest.mark.parametrize("spell", [label, str.upper, str.title])
def test_the_privileged_oracle_succeeds_with_choices_in_another_spelling(
    ways: list[OracleTrace], play_all: PlayAll, spell: Spell
) -> None:
    spelled: set[str] = set()
    specs = [way.played_by(_spelling(way, spell, spelled)) for way in ways]
    for way, kept in zip(ways, play_all(specs), strict=True):
        assert kept.result.success, (way.seed, kept.result.player_error)
        assert (kept.result.return_, kept.result.steps) == (way.kept.result.return_, way.kept.result.steps)
    assert spelled


def test_a_risk_tier_typed_as_the_page_shows_it_is_not_fabricated(play_all: PlayAll) -> None:
    spelled: set[str] = set()

    async def fair(task: TaskView, call: Call) -> None:
        async def as_shown(tool: str, arguments: dict[str, Any], /) -> StepView:
            if tool == "approvalflow_submit_approval" and "risk_tier" in arguments["fields"]:
                spelled.add(shown := label(arguments["fields"]["risk_tier"]))
                arguments = {**arguments, "fields": {**arguments["fields"], "risk_tier": shown}}
            return await call(tool, arguments)

        await fair_player("vendor_onboarding")(task, as_shown)

    plain = fair_player("vendor_onboarding")
    for seed in range(30):
        as_typed, as_stored = play_all([EpisodeSpec(player=player, seed=seed, chaos=0) for player in (fair, plain)])
        assert as_typed.result.success, as_typed.result.player_error
        assert as_typed.result.return_ == as_stored.result.return_
        if spelled & {"Medium"}:
            break
    assert "Medium" in spelled


def _spelling(way: OracleTrace, spell: Spell, spelled: set[str]) -> Any:
    async def privileged(task: TaskView, call: Call) -> None:
        schemas = {tool.name: tool.input_schema["properties"] for tool in task.tools}

        async def typed(tool: str, arguments: dict[str, Any], /) -> StepView:
            given = {name: _spelled(name, value, schemas[tool][name], spell) for name, value in arguments.items()}
            spelled.update(tool for name in given if given[name] != arguments[name])
            return await call(tool, given)

        await privileged_player(way.scenario)(way.seed, LEVEL, typed)

    return privileged


def _spelled(name: str, value: Any, schema: dict[str, Any], spell: Spell) -> Any:
    """Return an argument with its choices spelled another way, including those in free-form fields and answers."""
    if isinstance(value, str) and ("enum" in schema or name == "state"):
        return spell(value)
    if isinstance(value, dict) and name in ("fields", "answers"):
        return {key: spell(one) if isinstance(one, str) and is_choice(one) else one for key, one in value.items()}
    return value
