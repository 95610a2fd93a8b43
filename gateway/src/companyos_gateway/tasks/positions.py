"""Positions of tasks: the index in a split, the task id, and the range of seeds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from companyos.contract import Split
from companyos_gateway.chaos import levels as chaos_levels
from companyos_gateway.world.splits import SEEDS

COPIES: Mapping[Split, int] = MappingProxyType({Split.TRAIN: 40, Split.VALIDATION: 4, Split.TEST: 8})
"""Number of tasks of each scenario at each level, by split."""

SEEDS_PER_TASK = 1000
"""Number of seeds among which one is found whose instance has the required structure."""

_ID = re.compile(r"\A(?P<split>[a-z]+)\.(?P<scenario>[a-z0-9_-]+)\.(?P<chaos>[0-9])\.(?P<copy>[0-9]{2,6})")


@dataclass(frozen=True)
class TaskRef:
    """Reference to a task that an episode stores: the id, and the version of the task set."""

    id: str
    version: str


@dataclass(frozen=True, kw_only=True)
class TaskPosition:
    """Position of a task in a block of scenarios and levels.

    The scenario varies fastest, then the level, then the copy, so every prefix of a block is balanced.
    """

    split: Split
    scenario: str
    chaos: int
    copy: int

    @classmethod
    def at(cls, split: Split, index: int, scenarios: Sequence[str], levels: Sequence[int]) -> TaskPosition:
        """Return the position at an index of a block; the index must be in range."""
        turn, number = divmod(index, len(scenarios))
        copy, level = divmod(turn, len(levels))
        return cls(split=split, scenario=scenarios[number], chaos=levels[level], copy=copy)

    @classmethod
    def parse_id(cls, task_id: str) -> TaskPosition | None:
        """Return the position of a task id, None if the id is invalid."""
        match = _ID.fullmatch(task_id)
        if match is None or match["split"] not in set(Split):
            return None
        position = cls(
            split=Split(match["split"]),
            scenario=match["scenario"],
            chaos=int(match["chaos"]),
            copy=int(match["copy"]),
        )
        return position if position.exists and position.id == task_id else None

    @property
    def exists(self) -> bool:
        """Return whether the split has this position."""
        return self.chaos in chaos_levels() and self.copy < COPIES[self.split]

    @property
    def id(self) -> str:
        """The id of the task: split, scenario, level and copy."""
        return f"{self.split}.{self.scenario}.{self.chaos}.{self.copy:02d}"

    @property
    def uses_held_out_variant(self) -> bool:
        """Return whether the task uses a held-out variant: every other copy of the test split."""
        return self.split is Split.TEST and self.copy % 2 == 1

    @property
    def seeds(self) -> range:
        """The range of seeds from which the task's own seed is chosen."""
        first = SEEDS[self.split].start + (self.chaos * COPIES[self.split] + self.copy) * SEEDS_PER_TASK
        return range(first, first + SEEDS_PER_TASK)

    def index(self, scenarios: Sequence[str], levels: Sequence[int]) -> int:
        """Return the index of the position in its block."""
        turn = self.copy * len(levels) + levels.index(self.chaos)
        return turn * len(scenarios) + scenarios.index(self.scenario)
