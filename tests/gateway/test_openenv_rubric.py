"""The rubric tree of an environment, which in-process trainers read."""

from __future__ import annotations

from openenv.core.env_server.mcp_types import CallToolAction, ListToolsAction

from companyos_gateway.api.openenv_environment import CompanyOSEnvironment
from tests.gateway.conftest import NotesGateway


def _finish_note(note_id: int) -> CallToolAction:
    return CallToolAction(tool_name="notes_finish_note", arguments={"note_id": note_id})


async def test_every_check_and_milestone_is_a_named_rubric(gateway: NotesGateway) -> None:
    environment = CompanyOSEnvironment(gateway.runtime)
    await environment.reset_async(scenario="note_keeping", seed=1, episode_id="mine")
    assert environment.rubric is not None
    task_rubric = gateway.runtime.engine().store.get("mine").task.instance.rubric
    names = {name for name, _ in environment.rubric.named_rubrics()}
    parts = {"checks", "checks.declared", "milestones", "undamaged"}
    checks = {f"checks.{check.id}" for check in task_rubric.checks}
    assert names == parts | checks | {f"milestones.{milestone.id}" for milestone in task_rubric.milestones}


async def test_the_rubric_tree_shows_scores_and_met_milestones_after_each_step(gateway: NotesGateway) -> None:
    environment = CompanyOSEnvironment(gateway.runtime)
    first = await environment.reset_async(scenario="note_keeping", seed=1)
    rubric = environment.rubric
    assert rubric is not None
    assert (first.reward, rubric.last_score) == (0.0, 0.0)
    milestones = rubric.get_rubric("milestones")
    before = milestones.last_score
    step = await environment.step_async(_finish_note(1))
    assert rubric.last_score == step.reward == 1.9
    assert milestones.last_score != before
    assert rubric.get_rubric("undamaged").last_score == 1.0
    last = await environment.step_async(_finish_note(2))
    assert last.done
    assert {name: part.last_score for name, part in rubric.named_rubrics() if part.last_score != 1.0} == {}


async def test_listing_tools_pays_nothing_and_changes_no_score(gateway: NotesGateway) -> None:
    environment = CompanyOSEnvironment(gateway.runtime)
    await environment.reset_async(scenario="note_keeping", seed=1)
    step = await environment.step_async(_finish_note(1))
    assert (await environment.step_async(ListToolsAction())).reward == 0.0
    assert environment.rubric is not None
    assert environment.rubric.last_score == step.reward


async def test_a_rubric_tree_that_is_first_read_late_has_the_last_step(gateway: NotesGateway) -> None:
    environment = CompanyOSEnvironment(gateway.runtime)
    await environment.reset_async(scenario="note_keeping", seed=1)
    step = await environment.step_async(_finish_note(1))
    rubric = environment.rubric
    assert rubric is not None
    assert rubric.last_score == step.reward
    await environment.reset_async(scenario="note_keeping", seed=1)
    assert environment.rubric is not rubric


def test_before_the_first_reset_there_is_no_rubric_tree(gateway: NotesGateway) -> None:
    assert CompanyOSEnvironment(gateway.runtime).rubric is None


async def test_each_episode_has_a_separate_rubric_tree(gateway: NotesGateway) -> None:
    one, other = CompanyOSEnvironment(gateway.runtime), CompanyOSEnvironment(gateway.runtime)
    for environment in (one, other):
        await environment.reset_async(scenario="note_keeping", seed=1)
    await one.step_async(_finish_note(1))
    assert one.rubric is not None
    assert other.rubric is not None
    assert one.rubric.last_score == 1.9
    assert other.rubric.last_score == 0.0
