"""Which episodes `eval` plays: seeds of a scenario, or tasks of a split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from companyos.cli.session import Server
from companyos.cli.tasks import chosen
from companyos.cli.terminal import counted

if TYPE_CHECKING:
    from companyos.contract import TaskInfo
    from companyos.runner import EpisodePlan


@dataclass(frozen=True)
class Seeds:
    """Seeds of one scenario at some levels."""

    scenario: str
    levels: tuple[int, ...]
    first: int
    count: int

    @property
    def title(self) -> str:
        """What is written above the results."""
        return f"{self.scenario}, {_chaos(self.levels)}, seeds {self.first} to {self.first + self.count - 1}"

    def plans(self, policy: str) -> list[EpisodePlan]:
        """Return the episodes that a policy is to play, once each."""
        from companyos.runner import EpisodePlan

        seeds = range(self.first, self.first + self.count)
        return [
            EpisodePlan(scenario=self.scenario, seed=seed, chaos=level, policy=policy)
            for level in self.levels
            for seed in seeds
        ]


def _chaos(levels: tuple[int, ...]) -> str:
    return f"chaos {', '.join(map(str, levels))}"


def tasks_of(
    server: Server, split: str, scenario: str | None, levels: tuple[int, ...], count: int | None
) -> tuple[str, Callable[[str], list[EpisodePlan]]]:
    """Return what the tasks of a split are called together, and the episodes of them that a policy is to play."""
    import asyncio

    from companyos.runner import EpisodePlan

    async def read() -> list[TaskInfo]:
        async with server.trainer() as trainer:
            return await trainer.tasks(split)

    found = chosen(asyncio.run(read()), scenario, levels[0] if len(levels) == 1 else None)
    wanted = [task for task in found if not levels or task.chaos in levels]
    wanted = wanted if count is None else balanced(wanted, count)

    def plans(policy: str) -> list[EpisodePlan]:
        return [
            EpisodePlan(scenario=task.scenario, chaos=task.chaos, policy=policy, task_id=task.id) for task in wanted
        ]

    of = "".join([f", {scenario}" if scenario else "", f", {_chaos(levels)}" if levels else ""])
    return f"split {split}{of}: {counted(len(wanted), 'task')} of the set {wanted[0].version}", plans


def balanced(tasks: list[TaskInfo], count: int) -> list[TaskInfo]:
    """Return so many of the tasks, as even over chaos levels and scenarios as it goes; fewer are the first of more."""
    left = {level: [task for task in tasks if task.chaos == level] for level in sorted({task.chaos for task in tasks})}
    picked: list[TaskInfo] = []
    of_level, of_scenario = Counter[int](), Counter[str]()
    while len(picked) < count and left:
        level = min(left, key=lambda one: (of_level[one], one))
        task = min(left[level], key=lambda one: of_scenario[one.scenario])
        left[level].remove(task)
        if not left[level]:
            del left[level]
        picked.append(task)
        of_level[level] += 1
        of_scenario[task.scenario] += 1
    return picked


def tried(plans: list[EpisodePlan], trials: int) -> list[EpisodePlan]:
    """Return every episode as often as it is to be tried, the trials of one after another."""
    return [replace(plan, trial=trial) for plan in plans for trial in range(1, trials + 1)]
