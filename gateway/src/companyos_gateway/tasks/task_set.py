"""The tasks of all scenarios: listed by split and index, described without hidden facts, seeded.

The tasks of scenarios and levels that other packages add come after all of the published ones, whose indices stay as
they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from companyos.contract import Split, SplitInfo, TaskInfo
from companyos_gateway.chaos import builtin_levels, levels, profile_for
from companyos_gateway.scenarios import Instance, Scenario
from companyos_gateway.scenarios.catalogue import builtin_names
from companyos_gateway.tasks.positions import COPIES, TaskPosition, TaskRef
from companyos_shared.streams import digest

TASK_SET_REVISION = 2
"""Goes up when the same place is another task than before: a generator, a pool or a policy has changed."""

CANARY = "companyos:31e3e0a1-5f23-4f1e-85bf-390078405ece"
"""Stands in every published task: a corpus that holds it holds tasks of this set, which are not to learn from."""


class TaskNotFoundError(LookupError):
    """Raised for a split, an index or an id that the task set does not have; the text says which."""


@dataclass(frozen=True)
class _Block:
    """Consecutive tasks of a split: all copies of these scenarios at these levels."""

    scenarios: tuple[str, ...]
    levels: tuple[int, ...]

    def size(self, split: Split) -> int:
        return COPIES[split] * len(self.levels) * len(self.scenarios)


class TaskSet:
    """Every task of the given scenarios. A place costs nothing; its seed is found when it is first asked for.

    `version` is the one of the published tasks, with those of added scenarios and levels after plus signs.
    """

    def __init__(self, scenarios: Mapping[str, Scenario]) -> None:
        self._scenarios = dict(scenarios)
        published = tuple(sorted(scenarios.keys() & builtin_names()))
        added = tuple(sorted(scenarios.keys() - builtin_names()))
        added_levels = tuple(level for level in levels() if level not in builtin_levels())
        blocks = (
            _Block(published, builtin_levels()),
            _Block(added, builtin_levels()),
            _Block(published + added, added_levels),
        )
        self._blocks = tuple(block for block in blocks if block.scenarios and block.levels)
        self._seeds: dict[TaskPosition, int] = {}
        self.version = "+".join(map(self._version, self._blocks))

    def splits(self) -> list[SplitInfo]:
        """Return the splits with their sizes."""
        return [
            SplitInfo(name=split, type=split, num_tasks=self.size(split), version=self.version, canary=CANARY)
            for split in Split
        ]

    def size(self, split: str) -> int:
        """Return how many tasks a split has; raises TaskNotFoundError."""
        return sum(block.size(_parse_split(split)) for block in self._blocks)

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

    def _position(self, split: Split, index: int) -> TaskPosition:
        """Return the place with that number, which the split has."""
        for block in self._blocks:
            if index < block.size(split):
                return TaskPosition.at(split, index, block.scenarios, block.levels)
            index -= block.size(split)
        raise AssertionError

    def _index(self, position: TaskPosition) -> int:
        start = 0
        for block in self._blocks:
            if position.scenario in block.scenarios and position.chaos in block.levels:
                return start + position.index(block.scenarios, block.levels)
            start += block.size(position.split)
        raise AssertionError

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

    def _version(self, block: _Block) -> str:
        held_out = {name: sorted(self._scenarios[name].held_out) for name in block.scenarios}
        return f"{TASK_SET_REVISION}.{len(held_out)}.{digest([held_out, dict(COPIES), block.levels])[:8]}"


def _parse_split(split: str) -> Split:
    if split not in set(Split):
        raise TaskNotFoundError(f"split: there are {', '.join(Split)}, not {split!r}")
    return Split(split)
