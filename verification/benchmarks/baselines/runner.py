"""Plays the baselines: every policy plays the same tasks into its own folder, and interrupted runs resume."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from companyos.cli.connection import Server, connect_or_start
from companyos.cli.eval_runs import EarlyStop, balanced_sample, play_with_progress, with_trials
from companyos.cli.terminal import ERR
from companyos.runner import EpisodePlan, read_records, summarise
from companyos.runner.run_reader import EPISODES, RUN
from companyos.runner.run_writer import RunMismatchError
from companyos.schemas import TaskInfo
from verification.git import commit

SPLIT = "test"
POLICIES = ("noop", "random", "worker1", "worker2", "worker3", "oracle")
TASKS = 200
"""Number of tasks, balanced over chaos levels and scenarios."""

TRIALS = 2
SESSIONS = "sessions.jsonl"
_REMOVE_HINT = "remove the folder to play again"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The policies, tasks and folder of a run."""

    policies: tuple[str, ...] = POLICIES
    tasks: int = TASKS
    trials: int = TRIALS
    folder: Path
    parallel: int = 4

    def folder_of(self, policy: str) -> Path:
        """Return the folder of a policy's run, in the format of `companyos eval --out`."""
        return self.folder / policy

    def command_of(self, policy: str) -> str:
        """Return the command that plays the same episodes with one policy."""
        return f"companyos eval --policy {policy} --split {SPLIT} -n {self.tasks} --trials {self.trials}"


@dataclass(frozen=True, kw_only=True)
class Session:
    """One session: start time, commit, number of episodes and cost."""

    began: str
    commit: str | None
    episodes: int
    wall_s: float
    processor_s: float
    load: float
    """Load average of the last minute at the end."""

    processors: int | None


def play_baselines(plan: Plan, *, url: str | None = None) -> EarlyStop | None:
    """Play the missing episodes, print each policy's results, and return the error that ended the run early.

    Raises RunMismatchError for a folder with other tasks or another version.
    """
    with _recorded_session(plan.folder) as count, connect_or_start(url, None) as server:
        tasks = balanced_sample(_tasks(server), plan.tasks)
        _check_version(plan, tasks[0].version)
        for policy in plan.policies:
            stop = _play(server, plan, policy, tasks, count=count)
            if stop is not None:
                return stop
    return None


def sessions(folder: Path) -> list[Session]:
    """Return the sessions of a folder."""
    return [Session(**json.loads(line)) for line in (folder / SESSIONS).read_bytes().splitlines()]


def _tasks(server: Server) -> list[TaskInfo]:
    import asyncio

    async def read() -> list[TaskInfo]:
        async with server.trainer() as trainer:
            return await trainer.tasks(SPLIT)

    return asyncio.run(read())


def _play(server: Server, plan: Plan, policy: str, tasks: Sequence[TaskInfo], *, count: list[str]) -> EarlyStop | None:
    plans = [EpisodePlan(scenario=task.scenario, chaos=task.chaos, policy=policy, task_id=task.id) for task in tasks]
    played, stop = play_with_progress(
        server,
        with_trials(plans, plan.trials),
        parallel=plan.parallel,
        out=plan.folder_of(policy),
        resume=True,
    )
    count += [policy for episode in played if episode.steps]
    if played:
        summary = summarise([episode.record for episode in played])
        line = f"{policy}: {summary.episodes} episodes, success {summary.success_rate:.1%}"
        ERR.print(f"{line}, mean return {summary.mean_return:+.2f}, infra errors {summary.infra_errors}")
    return stop


def _check_version(plan: Plan, task_set: str) -> None:
    """Raise RunMismatchError if stored episodes have another version or task set."""
    now = {"companyos": version("companyos"), "task set": task_set}
    for policy in plan.policies:
        folder = plan.folder_of(policy)
        if not (folder / RUN).exists() or not (folder / EPISODES).exists():
            continue
        played_with = json.loads((folder / RUN).read_text(encoding="utf-8"))["companyos"]
        kept = [
            ("companyos", played_with),
            *(("task set", item.task_set) for item in read_records(folder) if item.task_set),
        ]
        for name, before in kept:
            if before != now[name]:
                raise RunMismatchError(
                    f"{folder} was played with {name} {before}, but the current one is {now[name]}; {_REMOVE_HINT}"
                )


@contextmanager
def _recorded_session(folder: Path) -> Iterator[list[str]]:
    """Record the cost of the enclosed session; yield a list for the policy of each played episode."""
    began, commit_id, processor_s, wall_s = datetime.now(UTC), commit(), _processor_s(), time.monotonic()
    count: list[str] = []
    try:
        yield count
    finally:
        if count:
            done = Session(
                began=f"{began:%Y-%m-%dT%H:%M:%SZ}",
                commit=commit_id,
                episodes=len(count),
                wall_s=round(time.monotonic() - wall_s, 1),
                processor_s=round(_processor_s() - processor_s, 1),
                load=round(os.getloadavg()[0], 1),
                processors=os.cpu_count(),
            )
            with (folder / SESSIONS).open("a", encoding="utf-8") as kept:
                kept.write(json.dumps(asdict(done)) + "\n")


def _processor_s() -> float:
    """Return the processor time of this process and its finished children, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
