"""The rubric tree of an environment, which in-process trainers read."""

from __future__ import annotations

import pytest
from openenv.core.env_server.mcp_types import CallToolAction, ListToolsAction
from openenv.core.rubrics.base import Rubric

from companyos_gateway.api.openenv_environment import CompanyOSEnvironment
from tests.gateway.conftest import NotesGateway


@pytest.fixture
async def environment(gateway: NotesGateway) -> CompanyOSEnvironment:
    """Provide an environment with an episode."""
    return await _begun(gateway, episode_id="mine")


async def _begun(gateway: NotesGateway, episode_id: str | None = None) -> CompanyOSEnvironment:
    environment = CompanyOSEnvironment(gateway.runtime)
    first = await environment.reset_async(scenario="note_keeping", seed=1, episode_id=episode_id)
    assert first.reward == 0.0
    return environment


def _rubric(environment: CompanyOSEnvironment) -> Rubric:
    assert environment.rubric is not None
    return environment.rubric


def _finish_note(note_id: int) -> CallToolAction:
    return CallToolAction(tool_name="notes_finish_note", arguments={"note_id": note_id})


async def test_every_check_and_milestone_is_a_named_rubric(
    gateway: NotesGateway, environment: CompanyOSEnvironment
) -> None:
    task_rubric = gateway.runtime.engine().store.get("mine").task.instance.rubric
    names = {name for name, _ in _rubric(environment).named_rubrics()}
    parts = {"checks", "checks.declared", "milestones", "undamaged"}
    checks = {f"checks.{check.id}" for check in task_rubric.checks}
    assert names == parts | checks | {f"milestones.{milestone.id}" for milestone in task_rubric.milestones}


async def test_the_rubric_tree_shows_scores_and_met_milestones_after_each_step(
    environment: CompanyOSEnvironment,
) -> None:
    rubric = _rubric(environment)
    assert rubric.last_score == 0.0
    milestones = rubric.get_rubric("milestones")
    before = milestones.last_score
    step = await environment.step_async(_finish_note(1))
    assert rubric.last_score == step.reward == 1.9
    assert milestones.last_score != before
    assert rubric.get_rubric("undamaged").last_score == 1.0
    last = await environment.step_async(_finish_note(2))
    assert last.done
    assert {name: part.last_score for name, part in rubric.named_rubrics() if part.last_score != 1.0} == {}


async def test_listing_tools_pays_nothing_and_changes_no_score(environment: CompanyOSEnvironment) -> None:
    step = await environment.step_async(_finish_note(1))
    assert (await environment.step_async(ListToolsAction())).reward == 0.0
    assert _rubric(environment).last_score == step.reward


async def test_a_rubric_tree_that_is_first_read_late_has_the_last_step(environment: CompanyOSEnvironment) -> None:
    step = await environment.step_async(_finish_note(1))
    rubric = _rubric(environment)
    assert rubric.last_score == step.reward
    await environment.reset_async(scenario="note_keeping", seed=1)
    assert environment.rubric is not rubric


def test_before_the_first_reset_there_is_no_rubric_tree(gateway: NotesGateway) -> None:
    assert CompanyOSEnvironment(gateway.runtime).rubric is None


async def test_each_episode_has_a_separate_rubric_tree(
    gateway: NotesGateway, environment: CompanyOSEnvironment
) -> None:
    other = await _begun(gateway)
    await environment.step_async(_finish_note(1))
    assert (_rubric(environment).last_score, _rubric(other).last_score) == (1.9, 0.0)
