"""Episodes for tests: played on the gateway's own engine over the three services in process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from companyos.policies import Call, TaskView
from companyos_gateway.chaos import profile_for
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.evaluation import Verdict, row_views
from companyos_gateway.scenarios import Instance, catalogue
from companyos_gateway.scenarios.blocks.task import BuiltTask
from companyos_gateway.scenarios.shifts import find_scenario
from companyos_players import ToolClient
from companyos_players.player import Player
from companyos_players.worker import Worker
from verification.in_process import in_process_runtime
from verification.proof import RecordedEpisode, record_episode

SCENARIO = "vendor_onboarding"
HARDEST = 4


@dataclass(frozen=True, kw_only=True)
class EpisodeSpec:
    """An episode to play."""

    player: Player
    seed: int
    chaos: int = 1
    overrides: Mapping[str, float] | None = None
    scenario: str = SCENARIO


PlayAll = Callable[[Sequence[EpisodeSpec]], list[RecordedEpisode]]
"""Plays episodes one after another and returns their evidence."""

T = TypeVar("T")


@asynccontextmanager
async def open_engine(folder: Path) -> AsyncIterator[EpisodeEngine]:
    """Open an engine whose services store their databases in the folder."""
    async with in_process_runtime(folder) as runtime:
        yield runtime.engine()


@contextmanager
def open_player(folder: Path) -> Iterator[PlayAll]:
    """Keep an engine open in its own event loop and thread; yield a function that plays episodes one after another."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="event-loop", daemon=True)
    thread.start()

    def wait_for(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    opened = open_engine(folder)
    engine = wait_for(opened.__aenter__())
    try:
        yield lambda specs: wait_for(_play_all(engine, specs))
    finally:
        wait_for(opened.__aexit__(None, None, None))
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _play_all(engine: EpisodeEngine, specs: Sequence[EpisodeSpec]) -> list[RecordedEpisode]:
    return [await _kept(engine, one) for one in specs]


async def _kept(engine: EpisodeEngine, one: EpisodeSpec) -> RecordedEpisode:
    name = getattr(one.player, "__name__", "player")
    return await record_episode(
        engine, one.scenario, name, one.player, seed=one.seed, chaos=one.chaos, overrides=one.overrides
    )


def initial_rows(documents: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the rows of seed documents by service, table and key, as the services insert them."""
    return {
        service: {
            table: {str(row.get("key", row.get("id"))): row for row in rows}
            for table, rows in document.items()
            if isinstance(rows, list)
            and table != "scheduled_events"
            and all("key" in row or "id" in row for row in rows)
        }
        for service, document in documents.items()
    }


def verdict_of(kept: RecordedEpisode) -> Verdict:
    """Return the verdict on a recorded episode."""
    return kept.instance.rubric.judge(kept.evidence, kept.finish)


def player_of(worker: type[Worker]) -> Player:
    """Return a player that lets a worker solve the task; it has the worker's name."""

    async def play(task: TaskView, call: Call) -> None:
        await worker(task, ToolClient(call)).work()

    play.__name__ = worker.__name__
    return play


@cache
def planned(scenario: str, seed: int, level: int) -> Instance:
    """Return the instance of a scenario or shift, which is planned once for all tests."""
    found = find_scenario(catalogue(), scenario)
    assert found is not None
    return found.plan(seed, level)


@cache
def hardest_task(name: str, seed: int) -> BuiltTask:
    """Return a task of a scenario at the highest chaos level."""
    built: BuiltTask = import_module(f"companyos_gateway.scenarios.{name}.scenario").SCENARIO.build(
        seed, profile_for(HARDEST), {}
    )
    return built


def entry_ticket(instance: Instance) -> dict[str, Any]:
    """Return the ticket that the brief names."""
    tickets = instance.documents[row_views.TICKETDESK]["tickets"]
    return next(dict(row) for row in tickets if row["key"] in instance.brief)
