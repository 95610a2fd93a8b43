"""A scenario whose plan or rubric fails ends only its own reset or episode; the gateway and others continue."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from openenv.core.env_server.mcp_types import CallToolAction

from companyos_gateway.api.openenv_environment import CompanyOSEnvironment
from companyos_gateway.engine import store
from companyos_gateway.evaluation import Check, Evidence, Mismatch
from companyos_gateway.scenarios import Instance
from tests.gateway.conftest import NotesGateway, OpenGateway, problem
from tests.gateway.notes import NoteKeeping, rubric

DECLARATION = {"outcome": "done", "summary": "Done."}


def _fail_after_a_note(evidence: Evidence) -> Mismatch | None:
    if list(evidence.agent_changes()):
        raise KeyError("a bug")
    return Mismatch("notes.notes[1]", "done", "not done")


@dataclass(frozen=True)
class FailingRubric(NoteKeeping):
    """Scenario with a check that raises KeyError once the agent has written a note."""

    def plan(self, seed_: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        failing = Check("failing", False, _fail_after_a_note)
        instance = super().plan(seed_, chaos, overrides)
        return replace(instance, rubric=rubric().with_checks([failing], lambda _evidence: [], lambda *_given: None))


async def _finish(gateway: NotesGateway, episode: str) -> dict[str, Any]:
    return await gateway.step(episode, "finish", **DECLARATION)


async def test_the_episode_of_a_rubric_that_raises_ends_as_infra_error(open_gateway: OpenGateway) -> None:
    async with open_gateway(FailingRubric()) as gateway:
        episode = await gateway.begin("one")
        assert (await _finish(gateway, episode))["done"]
        assert (await gateway.state(episode))["outcome"] == "infra_error"


async def test_an_episode_whose_rubric_raises_can_be_deleted(open_gateway: OpenGateway) -> None:
    async with open_gateway(FailingRubric()) as gateway:
        episode = await gateway.begin("one")
        assert (await gateway.http.delete(f"/v1/episodes/{episode}")).status_code == 204
        assert await gateway.live_ids() == []


async def test_an_episode_whose_rubric_raises_does_not_stop_the_reaper(
    open_gateway: OpenGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "REAP_INTERVAL_S", 0.01)
    async with open_gateway(FailingRubric(), idle_limit_s=1.0) as gateway, asyncio.timeout(20):
        for _ in range(2):
            episode, closed = await gateway.begin("one"), asyncio.Event()
            gateway.runtime.engine().store.get(episode).on_close.append(closed.set)
            await closed.wait()


async def test_a_gateway_starts_with_an_ended_episode_whose_rubric_raises(open_kept: OpenGateway) -> None:
    async with open_kept(FailingRubric()) as gateway:
        episode = await gateway.begin("one")
        await _finish(gateway, episode)
    async with open_kept(FailingRubric()) as gateway:
        assert (await gateway.state(episode))["outcome"] == "infra_error"


async def test_pages_show_an_episode_whose_rubric_raises_without_a_verdict(open_gateway: OpenGateway) -> None:
    async with open_gateway(FailingRubric()) as gateway:
        episode = await gateway.begin("one")
        for is_over in (False, True):
            document = (await gateway.http.get(f"/console/episodes/{episode}/document")).json()
            assert (document["verdict"], len(document["steps"])) == (None, 1 + is_over)
            for path in (f"/v1/episodes/{episode}/apps", f"/console/episodes/{episode}/steps"):
                assert (await gateway.http.get(path)).status_code == 200
            if not is_over:
                await _finish(gateway, episode)
        async with asyncio.timeout(20):
            events = (await gateway.http.get(f"/console/episodes/{episode}/events")).text
        assert "event: end" in events


async def test_the_evidence_of_an_episode_whose_rubric_raises_is_refused_with_a_code(open_gateway: OpenGateway) -> None:
    async with open_gateway(FailingRubric()) as gateway:
        episode = await gateway.begin("one")
        assert problem(await gateway.http.get(f"/v1/episodes/{episode}/evidence")) == (500, "rubric-failed")


async def test_a_rubric_that_raises_leaves_the_scores_of_the_rubric_tree_unchanged(open_gateway: OpenGateway) -> None:
    async with open_gateway(FailingRubric()) as gateway:
        environment = CompanyOSEnvironment(gateway.runtime)
        await environment.reset_async(scenario="note_keeping", seed=1)
        rubric = environment.rubric
        assert rubric is not None
        before = {name: part.last_score for name, part in rubric.named_rubrics()}
        for tool, arguments in (("notes_write_note", {"text": "one"}), ("finish", DECLARATION)):
            step = await environment.step_async(CallToolAction(tool_name=tool, arguments=arguments))
            assert rubric.last_score == step.reward
        assert step.done
        assert {name: part.last_score for name, part in rubric.named_rubrics()} == before


EMPTY, STOPPED, INVALID = 1, 2, 4


@dataclass(frozen=True)
class Failing(NoteKeeping):
    """Scenario that plans no documents for one seed, raises StopIteration for another, and misspells a table."""

    def plan(self, seed_: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        if seed_ == STOPPED:
            next(iter(()))
        instance = super().plan(seed_, chaos, overrides)
        if seed_ == INVALID:
            return replace(instance, documents={name: {**one, "notez": []} for name, one in instance.documents.items()})
        return replace(instance, documents={}) if seed_ == EMPTY else instance


@pytest.mark.timeout(20)
@pytest.mark.parametrize("seed", [EMPTY, STOPPED])
async def test_a_failing_plan_does_not_block_others(open_gateway: OpenGateway, seed: int) -> None:
    async with open_gateway(Failing()) as gateway:
        failed = await gateway.http.post("/reset", json={"scenario": "note_keeping", "seed": seed})
        assert problem(failed) == (500, "internal-error")
        await gateway.reset(seed=3)


async def test_the_error_for_an_invalid_seed_document_names_the_service_and_the_field(
    open_gateway: OpenGateway,
) -> None:
    async with open_gateway(Failing()) as gateway:
        failed = await gateway.http.post("/reset", json={"scenario": "note_keeping", "seed": INVALID})
        assert problem(failed) == (503, "services-unavailable")
        detail = failed.json()["detail"]
        assert detail.startswith("A service failed to load the task. notes: load returned status 422: invalid-seed: ")
        assert "notez" in detail
