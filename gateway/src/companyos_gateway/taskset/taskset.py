"""The tasks of a house's scenarios: listed by split and index, described without what has to be found out, seeded."""

from __future__ import annotations

from collections.abc import Mapping

from companyos.contract import Split, SplitInfo, TaskInfo
from companyos_gateway.chaos import levels, profile_for
from companyos_gateway.scenarios import Instance, Scenario
from companyos_gateway.taskset.places import COPIES, Place, TaskRef
from companyos_shared.streams import digest

NUMBER = 1
"""Goes up when the same place is another task than before: a generator, a pool or a policy has changed."""

CANARY = "companyos:31e3e0a1-5f23-4f1e-85bf-390078405ece"
"""Stands in every published task: a corpus that holds it holds tasks of this set, which are not to learn from."""


class UnknownPlace(LookupError):
    """Raised for a split, an index or an id that the task set does not have; the text says which."""


class TaskSet:
    """Every task of the given scenarios. A place costs nothing; its seed is found when it is first asked for."""

    def __init__(self, scenarios: Mapping[str, Scenario]) -> None:
        self._scenarios = {name: scenarios[name] for name in sorted(scenarios)}
        self._names = tuple(self._scenarios)
        self._seeds: dict[Place, int] = {}
        self.version = self._version()

    def splits(self) -> list[SplitInfo]:
        """Return the splits with their sizes."""
        return [
            SplitInfo(name=split, type=split, num_tasks=self.size(split), version=self.version, canary=CANARY)
            for split in Split
        ]

    def size(self, split: str) -> int:
        """Return how many tasks a split has; raises UnknownPlace."""
        return COPIES[_known(split)] * len(levels()) * len(self._names)

    def place(self, split: str, index: int) -> Place:
        """Return the place with that number; raises UnknownPlace."""
        size = self.size(split)
        if not 0 <= index < size:
            raise UnknownPlace(f"index: {split} has the tasks 0 to {size - 1}, not {index}")
        return Place.at(Split(split), index, self._names)

    def find(self, task_id: str) -> Place:
        """Return the place of a task's id; raises UnknownPlace."""
        place = Place.called(task_id)
        if place is None or place.scenario not in self._scenarios:
            raise UnknownPlace(f"task_id: no task is called {task_id!r}")
        return place

    def ref(self, place: Place) -> TaskRef:
        """Return what an episode of the task remembers."""
        return TaskRef(place.id, self.version)

    def tasks(self, split: str, start: int | None = None, stop: int | None = None) -> list[TaskInfo]:
        """Return the tasks of a slice, as Python slices, without their briefs; raises UnknownPlace."""
        numbers = range(self.size(split))[start:stop]
        return [self._info(Place.at(Split(split), index, self._names)) for index in numbers]

    def task(self, place: Place) -> TaskInfo:
        """Return one task with its brief, for which it is planned."""
        return self._info(place).model_copy(update={"brief": self.instance(place).brief})

    def instance(self, place: Place) -> Instance:
        """Return the instance of a task."""
        return self._scenarios[place.scenario].plan(self.seed(place), place.chaos)

    def seed(self, place: Place) -> int:
        """Return the seed of a task: the first of its seeds whose instance has the structure that is asked for."""
        found = self._seeds.get(place)
        if found is None:
            found = self._seeds[place] = self._first_that_fits(place)
        return found

    def _first_that_fits(self, place: Place) -> int:
        scenario = self._scenarios[place.scenario]
        if not scenario.held_out:
            return place.seeds.start
        for seed in place.seeds:
            is_held_out = scenario.plan(seed, place.chaos).variant in scenario.held_out
            if is_held_out == place.wants_held_out:
                return seed
        raise UnknownPlace(f"{place.id}: none of its {len(place.seeds)} seeds has the structure that it wants")

    def _info(self, place: Place) -> TaskInfo:
        return TaskInfo(
            id=place.id,
            split=place.split,
            index=place.index(self._names),
            difficulty=profile_for(place.chaos).name,
            group=place.scenario,
            scenario=place.scenario,
            chaos=place.chaos,
            held_out=place.wants_held_out and bool(self._scenarios[place.scenario].held_out),
            version=self.version,
            canary=CANARY,
        )

    def _version(self) -> str:
        held_out = {name: sorted(scenario.held_out) for name, scenario in self._scenarios.items()}
        return f"{NUMBER}.{len(held_out)}.{digest([held_out, dict(COPIES), levels()])[:8]}"


def _known(split: str) -> Split:
    if split not in set(Split):
        raise UnknownPlace(f"split: there are {', '.join(Split)}, not {split!r}")
    return Split(split)
