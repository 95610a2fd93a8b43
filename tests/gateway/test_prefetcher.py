"""Prefetched tasks: their selection, their number, and resets that use them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from companyos_gateway.engine import prefetcher
from companyos_gateway.engine.reset_request import task_key
from companyos_gateway.scenarios import Instance
from tests.gateway.conftest import OpenGateway
from tests.gateway.notes import NoteKeeping

FAILING = 13


@dataclass(frozen=True)
class Recorded(NoteKeeping):
    """Scenario that records the planned seeds."""

    planned: list[int] = field(default_factory=list)

    def plan(self, seed_: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        self.planned.append(seed_)
        if seed_ == FAILING:
            raise RuntimeError("no plan")
        return super().plan(seed_, chaos, overrides)


async def _planned(scenario: Recorded, count: int) -> list[int]:
    for _ in range(1000):
        if len(scenario.planned) >= count:
            return scenario.planned
        await asyncio.sleep(0.01)
    raise TimeoutError(f"planned within 10 s: {scenario.planned}")


async def test_the_next_seeds_are_planned_once(open_gateway: OpenGateway) -> None:
    scenario = Recorded()
    async with open_gateway(scenario) as gateway:
        await gateway.reset(seed=4, prefetch=3)
        assert await _planned(scenario, 4) == [4, 5, 6, 7]
        for seed in (5, 6, 7):
            await gateway.reset(seed=seed, prefetch=7 - seed)
    assert scenario.planned == [4, 5, 6, 7]


async def test_the_next_tasks_of_a_split_are_planned_up_to_its_end(open_gateway: OpenGateway) -> None:
    scenario = Recorded()
    async with open_gateway(scenario) as gateway:
        task_set = gateway.runtime.engine().task_set
        answer = await gateway.http.post("/reset", json={"split": "test", "index": 37, "prefetch": 5})
        assert answer.status_code == 200, answer.text
        keys = [await task_key(task_set.position("test", index), task_set) for index in (38, 39)]
        assert (await _planned(scenario, 3))[-2:] == [key.seed for key in keys]


async def test_a_task_that_cannot_be_planned_does_not_block_others(open_gateway: OpenGateway) -> None:
    scenario = Recorded()
    async with open_gateway(scenario) as gateway:
        await gateway.reset(seed=FAILING - 1, prefetch=2)
        assert await _planned(scenario, 3) == [FAILING - 1, FAILING, FAILING + 1]


async def test_tasks_are_not_planned_between_consecutive_steps(
    open_gateway: OpenGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefetcher, "QUIET_S", 1.0)
    monkeypatch.setattr(prefetcher, "MAX_WAIT_S", 60.0)
    scenario = Recorded()
    async with open_gateway(scenario) as gateway:
        await gateway.reset(seed=4, prefetch=1, episode_id="busy")
        for _ in range(5):
            await asyncio.sleep(0.3)
            await gateway.step("busy", "notes_list_notes")
        assert scenario.planned == [4]
        assert await _planned(scenario, 2) == [4, 5]


async def test_steps_without_a_pause_delay_planning_by_a_limited_time(
    open_gateway: OpenGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefetcher, "QUIET_S", 60.0)
    scenario = Recorded()
    async with open_gateway(scenario) as gateway:
        await gateway.reset(seed=4, prefetch=1)
        assert await _planned(scenario, 2) == [4, 5]


async def test_prefetching_plans_at_most_half_of_the_cached_tasks(open_gateway: OpenGateway) -> None:
    scenario = Recorded()
    async with open_gateway(scenario, task_cache_size=6) as gateway:
        await gateway.reset(seed=1, prefetch=20)
        await _planned(scenario, 4)
        await asyncio.sleep(0.1)
    assert scenario.planned == [1, 2, 3, 4]


async def test_an_episode_does_not_depend_on_prefetching(open_gateway: OpenGateway) -> None:
    scenario = Recorded()
    async with open_gateway(scenario) as gateway:
        await gateway.reset(seed=1, prefetch=1)
        await _planned(scenario, 2)
        ahead = await gateway.reset(seed=2)
        assert scenario.planned == [1, 2]
    async with open_gateway(Recorded()) as gateway:
        fresh = await gateway.reset(seed=2)
    assert ahead["observation"] == fresh["observation"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"prefetch": 1}, "prefetch requires a seed, or a split and an index"),
        ({"prefetch": 1, "task_id": "test.note_keeping.0.00"}, "prefetch requires a seed, or a split and an index"),
        ({"prefetch": 33, "seed": 1}, "less than or equal to 32"),
    ],
)
async def test_prefetching_options_that_cannot_be_used_are_rejected(
    open_gateway: OpenGateway, options: dict[str, object], text: str
) -> None:
    async with open_gateway(Recorded()) as gateway:
        answer = await gateway.http.post("/reset", json=options)
    assert answer.status_code == 422
    assert text in answer.text
