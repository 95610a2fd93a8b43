"""The trial of code mutants: each stands in for its module, and is killed where the corpus tells it apart."""

from __future__ import annotations

import inspect
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from companyos_gateway import rubrics
from companyos_gateway.proof.code.corpus import Task, ledgers
from companyos_gateway.proof.code.mutants import Mutant, mutants_of, mutated
from companyos_gateway.proof.code.patching import in_place_of
from companyos_gateway.scenarios import catalogue
from companyos_shared.streams import Stream

REWARD = "companyos_gateway.episode.outcome"
READING = (".evidence", ".facts")
"""Modules that read evidence."""

MOST_S = 60.0
"""A mutant that takes longer has been told."""


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
    found = [one for name in modules_of(scenarios) for one in mutants_of(name, _source(name))]
    return sorted(Stream("proof", "code", seed).sample(found, min(count, len(found))))


def tried(mutant: Mutant, tasks: Sequence[Task], paid: tuple[Any, ...]) -> Trial:
    """Let a mutant stand in for its module and look whether anything is another."""
    module = import_module(mutant.module)
    with in_place_of(module, mutated(_source(mutant.module), mutant)):
        try:
            with _limited():
                is_other = ledgers() != paid if mutant.module == REWARD else _is_told(mutant, tasks)
        except Exception:  # noqa: BLE001  # whatever a mutant breaks on, it is told from the original
            is_other = True
    return Trial(mutant, is_other)


def _is_told(mutant: Mutant, tasks: Sequence[Task]) -> bool:
    reads_again = mutant.module.endswith(READING)
    return any(task.tells(reads_again=reads_again) for task in _near(mutant, tasks))


def _near(mutant: Mutant, tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks that a mutant can show in: all, or those of the scenario whose own it is."""
    own = [task for task in tasks if f".{task.scenario}." in mutant.module]
    return own or list(tasks)


@contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, MOST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _source(module: str) -> str:
    return inspect.getsource(import_module(module))
