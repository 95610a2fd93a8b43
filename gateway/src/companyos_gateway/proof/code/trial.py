"""The trial of code mutants: each stands in for its module, and is killed where the corpus tells it apart."""

from __future__ import annotations

import inspect
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any

from companyos_gateway import rubrics
from companyos_gateway.proof.code.corpus import End, Task, ledgers, shape_of
from companyos_gateway.proof.code.mutants import Mutant, mutants_of, mutated
from companyos_gateway.proof.code.patching import in_place_of
from companyos_gateway.proof.code.reach import Function
from companyos_gateway.rubrics import TaskRubric
from companyos_gateway.scenarios import catalogue
from companyos_shared.streams import Stream

REWARD = "companyos_gateway.episode.outcome"
MOST_S = 20.0
"""A mutant that takes more processor time over one end, or over the drawn ledgers, has been told."""


@dataclass(frozen=True)
class Trial:
    """What became of a mutant."""

    mutant: Mutant
    killed: bool


class TookTooLong(Exception):
    """Raised where a mutant does not end."""


def modules_of(scenarios: Sequence[str]) -> list[str]:
    """Return the modules that judge: each scenario's own, the rewards, and with all scenarios the shared rubrics.

    What is shared can only be told by all who share it.
    """
    shared = [f"{rubrics.__name__}.{file.stem}" for file in sorted(Path(inspect.getfile(rubrics)).parent.glob("*.py"))]
    own = [f"companyos_gateway.scenarios.{name}.rubric" for name in scenarios]
    is_whole = set(scenarios) == set(catalogue())
    return [name for name in shared if is_whole and not name.endswith("__init__")] + own + [REWARD]


def drawn_mutants(scenarios: Sequence[str], count: int, *, seed: int) -> list[Mutant]:
    """Return so many mutants of those modules, all of them where there are fewer."""
    found = [one for name in modules_of(scenarios) for one in mutants_of(name, source_of(name))]
    return sorted(Stream("proof", "code", seed).sample(found, min(count, len(found))))


class Bench:
    """What mutants are held against. Ends that told one mutant of a module are the first to be tried with the next."""

    def __init__(self, tasks: Sequence[Task], paid: tuple[Any, ...]) -> None:
        self._tasks = tuple(tasks)
        self._paid = paid
        self._telling: dict[str, dict[tuple[Task, End], None]] = {}

    def tried(self, mutant: Mutant) -> Trial:
        """Let a mutant stand in for its module and look whether anything is another."""
        module = import_module(mutant.module)
        try:
            with in_place_of(module, mutated(source_of(mutant.module), mutant)):
                is_other = self._is_paid_otherwise() if mutant.module == REWARD else self._is_told(mutant)
        except Exception:  # noqa: BLE001  # whatever a mutant breaks on, it is told from the original
            is_other = True
        return Trial(mutant, is_other)

    def _is_paid_otherwise(self) -> bool:
        with _limited():
            return ledgers() != self._paid

    def _is_told(self, mutant: Mutant) -> bool:
        place = None if mutant.begins is None else (str(import_module(mutant.module).__file__), mutant.begins)
        rubrics_now: dict[Task, TaskRubric] = {}
        for task, end in self._in_order(mutant, place):
            with _limited():
                if task not in rubrics_now:
                    rubrics_now[task] = task.anew()
                    if shape_of(rubrics_now[task]) != task.shape:
                        return True
                if end.is_told(rubrics_now[task]):
                    self._remember(mutant, task, end)
                    return True
        return False

    def _in_order(self, mutant: Mutant, place: Function | None) -> Iterator[tuple[Task, End]]:
        """Yield the ends that can tell: first those that told before, then of all tasks, the unlike ones first."""
        told = self._telling.get(mutant.module, {})
        tasks = [task for task in self._tasks if f".{task.scenario}." in mutant.module] or self._tasks
        yield from ((task, end) for task, end in reversed(told) if _can_tell(task, end, place))
        for group in zip_longest(*(task.ends for task in tasks)):
            for task, end in zip(tasks, group, strict=True):
                if end is not None and (task, end) not in told and _can_tell(task, end, place):
                    yield task, end

    def _remember(self, mutant: Mutant, task: Task, end: End) -> None:
        told = self._telling.setdefault(mutant.module, {})
        told.pop((task, end), None)
        told[task, end] = None


def _can_tell(task: Task, end: End, place: Function | None) -> bool:
    """Say whether what is changed runs where the rubric of a task is built, or where it judges an end."""
    return place is None or place in end.ran or place in task.ran


@contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@cache
def source_of(module: str) -> str:
    """Return the source of a module."""
    return inspect.getsource(import_module(module))
