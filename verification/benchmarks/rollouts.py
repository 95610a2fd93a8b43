"""Rate of concurrent whole episodes: the oracle in `companyos eval`, and the same calls in a loop like TRL's."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import uvloop

from companyos.enterprise import Enterprise
from companyos.integrations.session import Session
from companyos.runner import EpisodePlan, PlayedEpisode
from companyos.runner.batch import play_all
from verification.benchmarks.clients import SCENARIO
from verification.benchmarks.measurements import Measurements

CONCURRENT = 64
EPISODES = 256
FIRST_SEED = 300_000
CHAOS = 1
TASKS = ("new", "cached")


def measure_rollouts(measurements: Measurements, scale: float) -> None:
    """Measure CONCURRENT episodes at once, each task twice, with separate servers for each loop.

    The training loop calls its sessions in turn, as TRL calls the environments of a batch, without a model.
    """
    seeds = range(FIRST_SEED, FIRST_SEED + max(CONCURRENT, round(EPISODES * scale)))
    plans = [EpisodePlan(scenario=SCENARIO, seed=seed, chaos=CHAOS, policy="oracle") for seed in seeds]
    with Enterprise(alone=True) as enterprise:
        for tasks in TASKS:
            with _rate(measurements, "eval", tasks, len(plans)):
                played = uvloop.run(play_all(enterprise.url, plans, parallel=CONCURRENT))
            if failed := [episode.plan.name for episode in played if not episode.record.success]:
                raise RuntimeError(f"the oracle did not solve {', '.join(failed)}")
    with Enterprise(alone=True) as enterprise:
        sessions = [Session(enterprise.url) for _ in range(CONCURRENT)]
        for tasks in TASKS:
            with _rate(measurements, "training loop", tasks, len(played)):
                for first in range(0, len(played), CONCURRENT):
                    _play_batch(sessions, played[first : first + CONCURRENT])
        for session in sessions:
            session.close()


def _play_batch(sessions: Sequence[Session], episodes: Sequence[PlayedEpisode]) -> None:
    for session, episode in zip(sessions, episodes, strict=False):
        session.reset(**episode.plan.reset_arguments)
        session.tools()
    for turn in range(max(len(episode.steps) for episode in episodes)):
        for session, episode in zip(sessions, episodes, strict=False):
            if turn < len(episode.steps):
                session.call(episode.steps[turn].tool, episode.steps[turn].arguments)
    for session, _ in zip(sessions, episodes, strict=False):
        if not session.end().success:
            raise RuntimeError("a repeated episode did not succeed")


@contextmanager
def _rate(measurements: Measurements, loop: str, tasks: str, episodes: int) -> Iterator[None]:
    began, began_cpu = time.perf_counter(), time.process_time()
    yield
    minutes = (time.perf_counter() - began) / 60
    named = f"{loop}, {CONCURRENT} at once, {tasks} tasks"
    measurements.add(f"{named}, oracle", episodes / minutes, "episodes/min")
    measurements.add(f"{named}, client's processor", (time.process_time() - began_cpu) / minutes / 60 * 100, "%")
