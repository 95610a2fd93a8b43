"""Giving up never succeeds, even if all other work of a task is done."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from companyos.contract import Outcome, ResetOptions
from companyos.policies import EpisodeOverError, StepView
from companyos.runner.episode import GIVE_UP
from companyos_gateway.engine.policy_views import build_step_view
from companyos_gateway.scenarios import catalogue
from companyos_players.registry import fair_player
from tests.scenarios.engine import open_engine
from tests.scenarios.oracle_traces import LEVEL, seed_of
from verification.proof.episode_runner import task_view

pytestmark = pytest.mark.matrix


@pytest.mark.parametrize("is_refusal", [False, True], ids=["completion", "refusal"])
@pytest.mark.parametrize("scenario", sorted(catalogue()))
async def test_an_episode_abandoned_before_its_last_call_fails(scenario: str, is_refusal: bool, tmp_path: Path) -> None:
    async with open_engine(tmp_path) as engine:
        seed = seed_of(scenario, is_refusal=is_refusal)
        episode = await engine.reset(ResetOptions(scenario=scenario, seed=seed, chaos=LEVEL, completion="explicit"))

        async def call(tool: str, arguments: dict[str, Any], /) -> StepView:
            if tool == "finish":
                raise EpisodeOverError
            seen = await engine.step(episode, tool, arguments)
            return build_step_view(seen)

        with suppress(EpisodeOverError):
            await fair_player(scenario)(task_view(engine, episode), call)
        assert not episode.done
        await engine.step(episode, "finish", dict(GIVE_UP))
        assert episode.outcome is Outcome.FAILED
