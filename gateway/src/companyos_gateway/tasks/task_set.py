"""The tasks of all scenarios: listed by split and index, described without hidden facts, seeded.

The tasks of scenarios that other packages add come after all of the published ones, whose indices stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from companyos.contract import Split, SplitInfo, TaskInfo
from companyos_gateway.chaos import levels, profile_for
from companyos_gateway.scenarios import Instance, Scenario
from companyos_gateway.scenarios.catalogue import builtin_names
from companyos_gateway.tasks.positions import COPIES, TaskPosition, TaskRef
from companyos_shared.streams import digest

TASK_SET_REVISION = 1
"""Goes up when the same place is another task than before: a generator, a pool or a policy has changed."""

CANARY = "companyos:31e3e0a1-5f23-4f1e-85bf-390078405ece"
"""Stands in every published task: a corpus that holds it holds tasks of this set, which are not to learn from."""


class TaskNotFoundError(LookupError):
    """Raised for a split, an index or an id that the task set does not have; the text says which."""


class TaskSet:
    """Every task of the given scenarios. A place costs nothing; its seed is found when it is first asked for.

    `version` is the one of the published tasks, with that of added scenarios after a plus sign.
    """

    def __init__(self, scenarios: Mapping[str, Scenario]) -> None:
        self._scenarios = dict(scenarios)
        self._published = tuple(sorted(scenarios.keys() & builtin_names()))
        self._added = tuple(sorted(scenarios.keys() - builtin_names()))
        self._seeds: dict[TaskPosition, int] = {}
        self.version = "+".join(self._version(names) for names in (self._published, self._added) if names)

    def splits(self) -> list[SplitInfo]:
        """Return the splits with their sizes."""
        return [
            SplitInfo(name=split, type=split, num_tasks=self.size(split), version=self.version, canary=CANARY)
            for split in Split
        ]

    def size(self, split: str) -> int:
        """Return how many tasks a split has; raises TaskNotFoundError."""
        return self._count(split, self._published) + self._count(split, self._added)

    def position(self, split: str, index: int) -> TaskPosition:
        """Return the place with that number; raises TaskNotFoundError."""
        size = self.size(split)
        if not 0 <= index < size:
            raise TaskNotFoundError(f"index: {split} has the tasks 0 to {size - 1}, not {index}")
        return self._position(Split(split), index)

    def find(self, task_id: str) -> TaskPosition:
        """Return the place of a task's id; raises TaskNotFoundError."""
        position = TaskPosition.parse_id(task_id)
        if position is None or position.scenario not in self._scenarios:
            raise TaskNotFoundError(f"task_id: no task is called {task_id!r}")
        return position

    def ref(self, position: TaskPosition) -> TaskRef:
        """Return what an episode of the task remembers."""
        return TaskRef(position.id, self.version)

    def tasks(self, split: str, start: int | None = None, stop: int | None = None) -> list[TaskInfo]:
        """Return the tasks of a slice, as Python slices, without their briefs; raises TaskNotFoundError."""
        indices = range(self.size(split))[start:stop]
        return [self._info(self._position(Split(split), index)) for index in indices]

    def task(self, position: TaskPosition) -> TaskInfo:
        """Return one task with its brief, for which it is planned."""
        return self._info(position).model_copy(update={"brief": self.instance(position).brief})

    def instance(self, position: TaskPosition) -> Instance:
        """Return the instance of a task."""
        return self._scenarios[position.scenario].plan(self.seed(position), position.chaos)

    def seed(self, position: TaskPosition) -> int:
        """Return the seed of a task: the first of its seeds whose instance has the structure that is asked for."""
        seed = self._seeds.get(position)
        if seed is None:
            seed = self._seeds[position] = self._find_seed(position)
        return seed

    def _count(self, split: str, names: Sequence[str]) -> int:
        return COPIES[_parse_split(split)] * len(levels()) * len(names)

    def _position(self, split: Split, index: int) -> TaskPosition:
        published = self._count(split, self._published)
        if index < published:
            return TaskPosition.at(split, index, self._published)
        return TaskPosition.at(split, index - published, self._added)

    def _index(self, position: TaskPosition) -> int:
        if position.scenario in self._published:
            return position.index(self._published)
        return self._count(position.split, self._published) + position.index(self._added)

    def _find_seed(self, position: TaskPosition) -> int:
        scenario = self._scenarios[position.scenario]
        if not scenario.held_out:
            return position.seeds.start
        for seed in position.seeds:
            is_held_out = scenario.plan(seed, position.chaos).variant in scenario.held_out
            if is_held_out == position.uses_held_out_variant:
                return seed
        raise TaskNotFoundError(
            f"{position.id}: none of its {len(position.seeds)} seeds has the structure that it wants"
        )

    def _info(self, position: TaskPosition) -> TaskInfo:
        return TaskInfo(
            id=position.id,
            split=position.split,
            index=self._index(position),
            difficulty=profile_for(position.chaos).name,
            group=position.scenario,
            scenario=position.scenario,
            chaos=position.chaos,
            held_out=position.uses_held_out_variant and bool(self._scenarios[position.scenario].held_out),
            version=self.version,
            canary=CANARY,
        )

    def _version(self, names: Sequence[str]) -> str:
        held_out = {name: sorted(self._scenarios[name].held_out) for name in names}
        return f"{TASK_SET_REVISION}.{len(held_out)}.{digest([held_out, dict(COPIES), levels()])[:8]}"


def _parse_split(split: str) -> Split:
    if split not in set(Split):
        raise TaskNotFoundError(f"split: there are {', '.join(Split)}, not {split!r}")
    return Split(split)
