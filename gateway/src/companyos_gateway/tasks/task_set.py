"""The tasks of all scenarios: listed by split and index, described without hidden facts, seeded.

A split lists the tasks of all scenarios. Shifts and larger companies also have tasks in every split, which are listed
by name: the split `test.shift-week` contains the weeks of the test split, `test.shift-week.4` those at level 4. Tasks
of scenarios and levels from other packages come after all published tasks, whose indices do not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from companyos.contract import Split, SplitInfo, TaskInfo
from companyos_gateway.chaos import builtin_levels, levels, profile_for
from companyos_gateway.scenarios import Instance, Scenario
from companyos_gateway.scenarios.catalogue import builtin_names
from companyos_gateway.scenarios.shifts import ShiftError, find_scenario
from companyos_gateway.tasks.positions import COPIES, TaskPosition, TaskRef
from companyos_shared.streams import digest

TASK_SET_REVISION = 2
"""Raised by one in a release whose tasks differ from those of the release before, if only in a text."""

CANARY = "companyos:31e3e0a1-5f23-4f1e-85bf-390078405ece"
"""Included in every published task. A text corpus that contains it contains tasks of this set and must not be used for
training."""


class TaskNotFoundError(LookupError):
    """Raised for a split, an index or an id that the task set does not have; the message names it."""


@dataclass(frozen=True)
class _Block:
    """Consecutive tasks of a split: all copies of these scenarios at these levels."""

    scenarios: tuple[str, ...]
    levels: tuple[int, ...]

    def size(self, split: Split) -> int:
        return COPIES[split] * len(self.levels) * len(self.scenarios)


class TaskSet:
    """All tasks of the given scenarios. Creating a position is cheap; its seed is found on first use and cached.

    `version` is the version of the published tasks, followed by those of added scenarios and levels after plus signs.
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
        """Return the number of tasks in a split; raises TaskNotFoundError."""
        purpose, blocks = self._parse_split(split)
        return sum(block.size(purpose) for block in blocks)

    def position(self, split: str, index: int) -> TaskPosition:
        """Return the position at an index of a split; raises TaskNotFoundError."""
        purpose, blocks = self._parse_split(split)
        remaining = index
        for block in blocks if index >= 0 else ():
            if remaining < block.size(purpose):
                return TaskPosition.at(purpose, remaining, block.scenarios, block.levels)
            remaining -= block.size(purpose)
        raise TaskNotFoundError(f"index must be 0 to {self.size(split) - 1} for {split}; got {index}")

    def find(self, task_id: str) -> TaskPosition:
        """Return the position of a task id; raises TaskNotFoundError."""
        position = TaskPosition.parse_id(task_id)
        if position is None:
            numbers = ", ".join(f"00 to {count - 1:02d} for {split}" for split, count in COPIES.items())
            known = ", ".join(map(str, levels()))
            form = "SPLIT.SCENARIO.LEVEL.NUMBER, such as test.bug_escalation.3.07"
            raise TaskNotFoundError(
                f"task_id must be {form}; LEVEL is one of {known}, NUMBER is {numbers}; got {task_id!r}"
            )
        if self._find_scenario(position.scenario) is None:
            raise TaskNotFoundError(f"task_id: no scenario or shift is named {position.scenario!r}")
        return position

    def ref(self, position: TaskPosition) -> TaskRef:
        """Return the reference to the task that an episode stores."""
        return TaskRef(position.id, self.version)

    def tasks(self, split: str, start: int | None = None, stop: int | None = None) -> list[TaskInfo]:
        """Return the tasks of a slice, with Python's slice semantics and without briefs; raises TaskNotFoundError."""
        indices = range(self.size(split))[start:stop]
        return [self._info(self.position(split, index)) for index in indices]

    def task(self, split: str, index: int) -> TaskInfo:
        """Return one task with its brief, for which its instance is planned; raises TaskNotFoundError."""
        position = self.position(split, index)
        return self._info(position).model_copy(update={"brief": self.instance(position).brief})

    def instance(self, position: TaskPosition) -> Instance:
        """Return the instance of a task."""
        return self._scenario(position.scenario).plan(self.seed(position), position.chaos)

    def seed(self, position: TaskPosition) -> int:
        """Return the seed of a task: the first of its seeds whose instance has the required structure."""
        seed = self._seeds.get(position)
        if seed is None:
            seed = self._seeds[position] = self._find_seed(position)
        return seed

    def _parse_split(self, name: str) -> tuple[Split, tuple[_Block, ...]]:
        """Return the split of a name and the blocks that it selects; raises TaskNotFoundError."""
        split, _, selection = name.partition(".")
        if split not in set(Split):
            raise TaskNotFoundError(f"split must be one of {', '.join(Split)}; got {name!r}")
        if not selection:
            return Split(split), self._blocks
        scenario, _, level = selection.partition(".")
        if self._find_scenario(scenario) is None:
            raise TaskNotFoundError(f"split: no scenario or shift is named {scenario!r}")
        accepted = {str(one): one for one in levels()}
        if level and level not in accepted:
            raise TaskNotFoundError(f"split: the level must be one of {', '.join(accepted)}; got {level!r}")
        return Split(split), (_Block((scenario,), (accepted[level],) if level else levels()),)

    def _find_scenario(self, name: str) -> Scenario | None:
        try:
            return find_scenario(self._scenarios, name)
        except ShiftError:
            return None

    def _scenario(self, name: str) -> Scenario:
        scenario = self._find_scenario(name)
        assert scenario is not None
        return scenario

    def _find_seed(self, position: TaskPosition) -> int:
        scenario = self._scenario(position.scenario)
        if not scenario.held_out:
            return position.seeds.start
        for seed in position.seeds:
            is_held_out = scenario.plan(seed, position.chaos).variant in scenario.held_out
            if is_held_out == position.uses_held_out_variant:
                return seed
        raise TaskNotFoundError(f"{position.id}: none of its {len(position.seeds)} seeds has the required structure")

    def _index(self, position: TaskPosition) -> int | None:
        """Return the index of a position in its split, None if the split does not list it."""
        start = 0
        for block in self._blocks:
            if position.scenario in block.scenarios and position.chaos in block.levels:
                return start + position.index(block.scenarios, block.levels)
            start += block.size(position.split)
        return None

    def _info(self, position: TaskPosition) -> TaskInfo:
        return TaskInfo(
            id=position.id,
            split=position.split,
            index=self._index(position),
            difficulty=profile_for(position.chaos).name,
            group=position.scenario,
            scenario=position.scenario,
            chaos=position.chaos,
            held_out=position.uses_held_out_variant and bool(self._scenario(position.scenario).held_out),
            version=self.version,
            canary=CANARY,
        )

    def _version(self, block: _Block) -> str:
        held_out = {name: sorted(self._scenarios[name].held_out) for name in block.scenarios}
        return f"{TASK_SET_REVISION}.{len(held_out)}.{digest([held_out, dict(COPIES), block.levels])[:8]}"
