"""Selects and runs the episodes of `eval`: seeds of scenarios, tasks of a split, or tasks by their ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NoReturn

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from companyos.cli.connection import Server
from companyos.cli.tasks import find_tasks, read_tasks
from companyos.cli.terminal import ERR, FAILED, INTERRUPTED, USAGE_ERROR, fail, pluralize
from companyos.extras import install_command

if TYPE_CHECKING:
    from companyos.contract import EpisodeRecord, TaskInfo
    from companyos.runner import EpisodePlan, PlayedEpisode
    from companyos.runner.batch import PolicyFactory


@dataclass(frozen=True)
class SeedPlans:
    """Seeds of one or more scenarios at several chaos levels."""

    scenarios: tuple[str, ...]
    levels: tuple[int, ...]
    first: int
    count: int
    overrides: tuple[tuple[str, float], ...] = ()

    @property
    def title(self) -> str:
        """Title of the results."""
        overrides = "".join(f", {name}={rate:g}" for name, rate in self.overrides)
        seeds = f"seeds {self.first} to {self.first + self.count - 1}" if self.count > 1 else f"seed {self.first}"
        return f"{', '.join(self.scenarios)}, {_format_levels(self.levels)}{overrides}, {seeds}"

    def plans(self, policy: str) -> list[EpisodePlan]:
        """Return one plan for each scenario, seed and level; the scenario varies fastest."""
        from companyos.runner import EpisodePlan

        seeds = range(self.first, self.first + self.count)
        return [
            EpisodePlan(scenario=scenario, seed=seed, chaos=level, policy=policy, chaos_overrides=self.overrides)
            for level in self.levels
            for seed in seeds
            for scenario in self.scenarios
        ]


def _format_levels(levels: tuple[int, ...]) -> str:
    return f"chaos {', '.join(map(str, levels))}"


def split_plans(
    server: Server, split: str, scenarios: tuple[str, ...], levels: tuple[int, ...], count: int | None
) -> tuple[str, Callable[[str], list[EpisodePlan]]]:
    """Return a title for the tasks of a split and the episode plans of a policy on them."""
    selected = select_tasks(server, split, scenarios, levels, count)
    title = ", ".join([f"split {split}", *scenarios, *([_format_levels(levels)] if levels else [])])
    return f"{title}: {_format_count(selected)}", partial(_plans_of, selected)


def task_plans(server: Server, task_ids: Sequence[str]) -> tuple[str, Callable[[str], list[EpisodePlan]]]:
    """Return a title for the tasks with these ids and the episode plans of a policy on them."""
    selected = find_tasks(server, task_ids)
    return _format_count(selected), partial(_plans_of, selected)


def _plans_of(tasks: list[TaskInfo], policy: str) -> list[EpisodePlan]:
    from companyos.runner import EpisodePlan

    return [EpisodePlan(scenario=task.scenario, chaos=task.chaos, policy=policy, task_id=task.id) for task in tasks]


def _format_count(tasks: list[TaskInfo]) -> str:
    return f"{pluralize(len(tasks), 'task')} of task set {tasks[0].version}"


def select_tasks(
    server: Server, split: str, scenarios: tuple[str, ...], levels: tuple[int, ...], count: int | None
) -> list[TaskInfo]:
    """Return the tasks of a split, all or of these scenarios, or `count` of them."""
    by_scenario = [read_tasks(server, split, scenario, levels) for scenario in scenarios or (None,)]
    alternating = chain.from_iterable(zip_longest(*by_scenario))
    selected = [task for task in alternating if task is not None]
    return selected if count is None else balanced_sample(selected, count)


def balanced_sample(tasks: list[TaskInfo], count: int) -> list[TaskInfo]:
    """Return `count` tasks, balanced over chaos levels and scenarios. A smaller sample is a prefix of a larger one."""
    remaining = {
        level: [task for task in tasks if task.chaos == level] for level in sorted({task.chaos for task in tasks})
    }
    sample: list[TaskInfo] = []
    of_level, of_scenario = Counter[int](), Counter[str]()
    while len(sample) < count and remaining:
        level = min(remaining, key=lambda level: (of_level[level], level))
        task = min(remaining[level], key=lambda candidate: of_scenario[candidate.scenario])
        remaining[level].remove(task)
        if not remaining[level]:
            del remaining[level]
        sample.append(task)
        of_level[level] += 1
        of_scenario[task.scenario] += 1
    return sample


def with_trials(plans: list[EpisodePlan], trials: int) -> list[EpisodePlan]:
    """Return each plan `trials` times, the trials of a task in a row."""
    return [replace(plan, trial=trial) for plan in plans for trial in range(1, trials + 1)]


@dataclass(frozen=True)
class RayCluster:
    """A Ray cluster in place of a server; each worker starts its own enterprise."""

    address: str
    workers: int | None = None


def check_cluster(
    address: str | None, *, workers: int | None, url: str | None, dry_run: bool, imports_policies: bool
) -> None:
    """End the command if the cluster options conflict or Ray is not installed."""
    import importlib.util

    if address is None:
        if workers is not None:
            fail(
                "--workers needs --cluster; for one server, use --parallel",
                USAGE_ERROR,
            )
        return
    if url is not None:
        fail("--cluster and --url cannot be combined: cluster workers start their own servers", USAGE_ERROR)
    if dry_run:
        fail("--cluster and --dry-run cannot be combined: a dry run uses this machine", USAGE_ERROR)
    if imports_policies:
        fail("--cluster needs installed policies, not MODULE:CLASS", USAGE_ERROR)
    if importlib.util.find_spec("ray") is None:
        fail(f"ray is not installed: {install_command('ray')}")


@dataclass(frozen=True)
class EarlyStop:
    """The reason why a run ended early: Ctrl-C, a limit, a failure of the policy, or a server that stopped."""

    code: int
    reason: str | None = None

    def end_command(self) -> NoReturn:
        """End the command with the exit status, and with the reason as an error if there is one."""
        if self.reason is None:
            raise typer.Exit(self.code)
        fail(self.reason, self.code)


class RunLimitReachedError(Exception):
    """Raised when a limit of a run is reached; the text names the limit."""


class RunLimits:
    """Adds up the cost, tokens and time of a run, and checks its limits; None means unlimited.

    The cost is in the currency of the models' token prices, and the seconds are those since the creation of this
    object: episodes of an earlier call do not count.
    """

    def __init__(self, *, cost: float | None, tokens: int | None, seconds: float | None) -> None:
        self._max_cost, self._max_tokens, self._max_seconds = cost, tokens, seconds
        self._began = monotonic()
        self._cost, self._tokens = 0.0, 0

    def add(self, record: EpisodeRecord) -> None:
        """Add an episode."""
        if record.usage is not None:
            self._cost += record.usage.cost or 0.0
            self._tokens += record.usage.prompt_tokens + record.usage.completion_tokens

    def check(self) -> None:
        """Raise RunLimitReachedError if a limit is reached."""
        seconds = monotonic() - self._began
        if self._max_cost is not None and self._cost >= self._max_cost:
            raise RunLimitReachedError(f"the run has cost {self._cost:,.2f} of at most {self._max_cost:,.2f}")
        if self._max_tokens is not None and self._tokens >= self._max_tokens:
            raise RunLimitReachedError(f"the run has used {self._tokens:,} of at most {self._max_tokens:,} tokens")
        if self._max_seconds is not None and seconds >= self._max_seconds:
            raise RunLimitReachedError(f"the run has taken {seconds:,.0f} of at most {self._max_seconds:,.0f} seconds")


def _print_started(cpus: int) -> None:
    ERR.print(f"no Ray cluster is running: started one on this machine with {pluralize(cpus, 'CPU')} for this run")


def play_with_progress(
    player: Server | RayCluster,
    plans: list[EpisodePlan],
    *,
    parallel: int,
    out: Path | None = None,
    make_policy: PolicyFactory | None = None,
    resume: bool = False,
    overwrite: bool = False,
    limits: RunLimits | None = None,
    episode_time_s: float | None = None,
) -> tuple[list[PlayedEpisode], EarlyStop | None]:
    """Play the plans with a progress bar; return the played episodes and the reason for an early end, if any."""
    import asyncio

    from companyos.policies import PolicyUnavailableError, load_policy
    from companyos.runner import play_all

    played: list[PlayedEpisode] = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("[green]{task.fields[successes]} succeeded[/]"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=ERR, transient=True) as progress:
        bar = progress.add_task("Playing", total=len(plans), successes=0)

        def on_played(episode: PlayedEpisode) -> None:
            played.append(episode)
            successes = sum(each.record.success for each in played)
            progress.update(bar, advance=1, successes=successes, description=f"Playing {episode.plan.policy}")
            if limits is not None:
                limits.add(episode.record)
                if len(played) < len(plans):
                    limits.check()

        make_policy = make_policy or load_policy
        try:
            if isinstance(player, RayCluster):
                from companyos.cluster import play_on_cluster

                return play_on_cluster(
                    player.address,
                    plans,
                    workers=player.workers,
                    parallel=parallel,
                    out=out,
                    on_played=on_played,
                    make_policy=make_policy,
                    resume=resume,
                    overwrite=overwrite,
                    episode_time_s=episode_time_s,
                    on_started=_print_started,
                ), None
            playing = play_all(
                player.url,
                plans,
                parallel=parallel,
                out=out,
                on_played=on_played,
                token=player.token,
                make_policy=make_policy,
                resume=resume,
                overwrite=overwrite,
                episode_time_s=episode_time_s,
            )
            return asyncio.run(playing), None
        except KeyboardInterrupt:
            return played, EarlyStop(INTERRUPTED)
        except (PolicyUnavailableError, RunLimitReachedError, ConnectionError) as reason:
            if not played and isinstance(reason, ConnectionError):
                raise
            return played, EarlyStop(FAILED, str(reason))
