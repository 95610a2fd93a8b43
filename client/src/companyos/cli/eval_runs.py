"""Which episodes `eval` plays: seeds of a scenario, or tasks of a split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from companyos.cli.connection import Server
from companyos.cli.tasks import filter_tasks
from companyos.cli.terminal import ERR, FAILED, INTERRUPTED, USAGE_ERROR, fail, pluralize
from companyos.extras import install_command

if TYPE_CHECKING:
    from companyos.contract import TaskInfo
    from companyos.runner import EpisodePlan, PlayedEpisode
    from companyos.runner.batch import PolicyFactory


@dataclass(frozen=True)
class SeedPlans:
    """Seeds of one scenario at some levels."""

    scenario: str
    levels: tuple[int, ...]
    first: int
    count: int

    @property
    def title(self) -> str:
        """What is written above the results."""
        return f"{self.scenario}, {_format_levels(self.levels)}, seeds {self.first} to {self.first + self.count - 1}"

    def plans(self, policy: str) -> list[EpisodePlan]:
        """Return the episodes that a policy is to play, once each."""
        from companyos.runner import EpisodePlan

        seeds = range(self.first, self.first + self.count)
        return [
            EpisodePlan(scenario=self.scenario, seed=seed, chaos=level, policy=policy)
            for level in self.levels
            for seed in seeds
        ]


def _format_levels(levels: tuple[int, ...]) -> str:
    return f"chaos {', '.join(map(str, levels))}"


def split_plans(
    server: Server, split: str, scenario: str | None, levels: tuple[int, ...], count: int | None
) -> tuple[str, Callable[[str], list[EpisodePlan]]]:
    """Return what the tasks of a split are called together, and the episodes of them that a policy is to play."""
    import asyncio

    from companyos.runner import EpisodePlan

    async def read() -> list[TaskInfo]:
        async with server.trainer() as trainer:
            return await trainer.tasks(split)

    matching = filter_tasks(asyncio.run(read()), scenario, levels[0] if len(levels) == 1 else None)
    selected = [task for task in matching if not levels or task.chaos in levels]
    selected = selected if count is None else balanced_sample(selected, count)

    def plans(policy: str) -> list[EpisodePlan]:
        return [
            EpisodePlan(scenario=task.scenario, chaos=task.chaos, policy=policy, task_id=task.id) for task in selected
        ]

    suffix = "".join([f", {scenario}" if scenario else "", f", {_format_levels(levels)}" if levels else ""])
    return f"split {split}{suffix}: {pluralize(len(selected), 'task')} of the set {selected[0].version}", plans


def balanced_sample(tasks: list[TaskInfo], count: int) -> list[TaskInfo]:
    """Return so many of the tasks, as even over chaos levels and scenarios as it goes; fewer are the first of more."""
    remaining = {
        level: [task for task in tasks if task.chaos == level] for level in sorted({task.chaos for task in tasks})
    }
    sample: list[TaskInfo] = []
    of_level, of_scenario = Counter[int](), Counter[str]()
    while len(sample) < count and remaining:
        level = min(remaining, key=lambda one: (of_level[one], one))
        task = min(remaining[level], key=lambda one: of_scenario[one.scenario])
        remaining[level].remove(task)
        if not remaining[level]:
            del remaining[level]
        sample.append(task)
        of_level[level] += 1
        of_scenario[task.scenario] += 1
    return sample


def with_trials(plans: list[EpisodePlan], trials: int) -> list[EpisodePlan]:
    """Return every episode as often as it is to be tried, the trials of one after another."""
    return [replace(plan, trial=trial) for plan in plans for trial in range(1, trials + 1)]


@dataclass(frozen=True)
class RayCluster:
    """A Ray cluster in place of a server: each of its workers has an enterprise of its own."""

    address: str
    workers: int | None = None


def check_cluster(address: str | None, *, workers: int | None, url: str | None, dry_run: bool) -> None:
    """End the command where the options of a cluster do not fit, or Ray is not there."""
    import importlib.util

    if address is None:
        if workers is not None:
            fail(
                "--workers belongs to --cluster; --parallel says how many episodes one server plays at once",
                USAGE_ERROR,
            )
        return
    if url is not None:
        fail("the workers of a cluster bring their own enterprises: --cluster or --url, not both", USAGE_ERROR)
    if dry_run:
        fail("a dry run is played on this machine: --cluster or --dry-run, not both", USAGE_ERROR)
    if importlib.util.find_spec("ray") is None:
        fail(f"ray is not installed: {install_command('ray')}")


@dataclass(frozen=True)
class EarlyStop:
    """Why a run ended early: somebody pressed Ctrl-C, or an agent could not play; `reason` says why."""

    code: int
    reason: str | None = None


def play_with_progress(
    player: Server | RayCluster,
    plans: list[EpisodePlan],
    *,
    parallel: int,
    out: Path | None = None,
    make_policy: PolicyFactory | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> tuple[list[PlayedEpisode], EarlyStop | None]:
    """Play the plans under a progress bar; return what was played, and what ended it early."""
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
            )
            return asyncio.run(playing), None
        except KeyboardInterrupt:
            return played, EarlyStop(INTERRUPTED)
        except PolicyUnavailableError as reason:
            return played, EarlyStop(FAILED, str(reason))
