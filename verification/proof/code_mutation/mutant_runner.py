"""Runs code mutants: each replaces its module and counts as killed if the corpus detects it."""

from __future__ import annotations

import inspect
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from companyos_gateway import evaluation
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.catalogue import folder_of
from companyos_shared.streams import Stream
from verification.proof.code_mutation.call_tracing import Function, trace_calls
from verification.proof.code_mutation.corpus import (
    CorpusCase,
    CorpusTask,
    declared_solution,
    kind_of,
    planned_cases,
    random_traces,
    shape_of,
)
from verification.proof.code_mutation.mutants import Mutant, apply_mutant, mutants_of
from verification.proof.code_mutation.patching import mutant_in_place
from verification.proof.players.oracles import MUTATION_LEVEL

_TRACED_SEEDS = 24
"""Number of instances whose rubrics are built to find the code that builds them."""

REWARD = "companyos_gateway.engine.reward"
TIME_LIMIT_S = 20.0
"""Processor time limit per case and for the random traces, in seconds; a slower mutant counts as killed."""


@dataclass(frozen=True)
class Trial:
    """The result of a mutant."""

    mutant: Mutant
    killed: bool


class MutantTimeoutError(Exception):
    """Raised for a mutant that exceeds the time limit."""


def modules_of(scenarios: Sequence[str]) -> list[str]:
    """Return the modules that judge: those of each scenario, the rewards and, for all scenarios, the shared rubrics.

    Mutants of shared code are detected only with all scenarios.
    """
    shared = [
        f"{evaluation.__name__}.{file.stem}" for file in sorted(Path(inspect.getfile(evaluation)).parent.glob("*.py"))
    ]
    own = [module for name in scenarios for module in _scenario_modules(name)]
    return [name for name in shared if is_whole(scenarios) and not name.endswith("__init__")] + own + [REWARD]


def is_whole(scenarios: Sequence[str]) -> bool:
    """Return whether these are all scenarios, in which case shared code is mutated."""
    return set(scenarios) == set(catalogue())


def _scenario_modules(scenario: str) -> list[str]:
    """Return the modules of a scenario that run when its rubric is built."""
    folder = folder_of(catalogue()[scenario])
    executed = {Path(file) for file, _ in _executed_functions(scenario)}
    return [f"companyos_gateway.scenarios.{scenario}.{file.stem}" for file in sorted(executed) if file.parent == folder]


@cache
def _executed_functions(scenario: str) -> frozenset[Function]:
    """Return the functions that run when rubrics of some instances of a scenario are built."""
    found: set[Function] = set()
    for seed in range(_TRACED_SEEDS):
        build_rubric = catalogue()[scenario].plan(seed, MUTATION_LEVEL).build_rubric
        assert build_rubric is not None, f"{scenario} does not declare how its rubric is built"
        with trace_calls() as executed:
            build_rubric()
        found |= executed
    return frozenset(found)


def mutants_for(scenarios: Sequence[str]) -> list[Mutant]:
    """Return the mutants of the modules that judge. Scenario code is mutated only in functions that build rubrics."""
    own = {module: name for name in scenarios for module in _scenario_modules(name)}
    found = []
    for module in modules_of(scenarios):
        mutants = mutants_of(module, source_of(module))
        if module in own:
            file, executed = str(import_module(module).__file__), _executed_functions(own[module])
            mutants = [one for one in mutants if one.function_line and (file, one.function_line) in executed]
        found += mutants
    return found


def sample_mutants(scenarios: Sequence[str], count: int, *, seed: int) -> list[Mutant]:
    """Return a sample of the modules' mutants, or all of them if there are fewer."""
    found = mutants_for(scenarios)
    return sorted(Stream("proof", "code", seed).sample(found, min(count, len(found))))


def differing_seeds(mutant: Mutant) -> list[int]:
    """Return the first seed of each kind of case in which a mutant of scenario code declares another solution."""
    if ".scenarios." not in mutant.module:
        return []
    cases = planned_cases(mutant.scenario)
    before = {seed: declared_solution(case) for seed, case in cases.items()}
    with mutant_in_place(import_module(mutant.module), apply_mutant(source_of(mutant.module), mutant)):
        changed = [seed for seed, case in cases.items() if declared_solution(case) != before[seed]]
    return list({kind_of(cases[seed]): seed for seed in reversed(changed)}.values())


class MutantRunner:
    """Runs mutants against the corpus. Cases that killed a mutant of a module are tried first on its next mutants."""

    def __init__(self, tasks: Sequence[CorpusTask], expected_traces: tuple[Any, ...]) -> None:
        self._tasks = tuple(tasks)
        self._expected_traces = expected_traces
        self._killing_cases: dict[str, dict[tuple[CorpusTask, CorpusCase], None]] = {}

    def run_mutant(self, mutant: Mutant, most_cases: int | None = None) -> Trial:
        """Replace the module with its mutant and compare the results of all or `most_cases` relevant cases."""
        module = import_module(mutant.module)
        try:
            with mutant_in_place(module, apply_mutant(source_of(mutant.module), mutant)):
                is_killed = self._traces_differ() if mutant.module == REWARD else self._is_killed(mutant, most_cases)
        except Exception:  # noqa: BLE001  # any exception distinguishes the mutant from the original
            is_killed = True
        return Trial(mutant, is_killed)

    def _traces_differ(self) -> bool:
        with _time_limit():
            return random_traces() != self._expected_traces

    def _is_killed(self, mutant: Mutant, most_cases: int | None) -> bool:
        function = (
            None if mutant.function_line is None else (str(import_module(mutant.module).__file__), mutant.function_line)
        )
        rubrics_now: dict[CorpusTask, TaskRubric] = {}
        for task, case in islice(self._in_order(mutant, function), most_cases):
            with _time_limit():
                if task not in rubrics_now:
                    rubrics_now[task] = task.build_rubric()
                    if shape_of(rubrics_now[task]) != task.shape:
                        return True
                if case.differs(rubrics_now[task]):
                    self._remember(mutant, task, case)
                    return True
        return False

    def _in_order(self, mutant: Mutant, function: Function | None) -> Iterator[tuple[CorpusTask, CorpusCase]]:
        """Yield the relevant cases: first those that killed mutants, latest first, then those of all tasks in turn."""
        killers = self._killing_cases.get(mutant.module, {})
        tasks = [task for task in self._tasks if f".{task.scenario}." in mutant.module] or self._tasks
        yield from ((task, case) for task, case in reversed(killers) if _can_detect(task, case, function))
        for group in zip_longest(*(task.cases for task in tasks)):
            for task, case in zip(tasks, group, strict=True):
                if case is not None and (task, case) not in killers and _can_detect(task, case, function):
                    yield task, case

    def _remember(self, mutant: Mutant, task: CorpusTask, case: CorpusCase) -> None:
        killers = self._killing_cases.setdefault(mutant.module, {})
        killers.pop((task, case), None)
        killers[task, case] = None


def _can_detect(task: CorpusTask, case: CorpusCase, function: Function | None) -> bool:
    """Return whether the mutated code runs when a task's rubric is built or judges a case."""
    return function is None or function in case.executed or function in task.executed


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise MutantTimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, TIME_LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@cache
def source_of(module: str) -> str:
    """Return the source of a module."""
    return inspect.getsource(import_module(module))
