"""The corpus for running mutants: final states of every scenario with their verdicts, and random reward traces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product, zip_longest
from typing import Any, cast

import orjson

from companyos.contract import FinishOutcome
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.evaluation import Evidence, FinishDeclaration, TaskRubric
from companyos_gateway.evaluation.evidence import RecordedCall
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.blocks.task import RubricFactory, ScenarioCase
from companyos_gateway.scenarios.rescoring import to_episode_verdict
from companyos_gateway.scenarios.shifts import find_scenario
from companyos_shared.streams import Stream
from companyos_shared.wire.company import ReasonCode
from companyos_shared.wire.control import Change
from verification.proof.code_mutation.call_tracing import Function, trace_calls
from verification.proof.code_mutation.shift_variants import SHIFT_VARIANTS
from verification.proof.code_mutation.targeted_variants import targeted_variants
from verification.proof.code_mutation.variants import pointed_variants, variants
from verification.proof.episode_runner import RecordedEpisode
from verification.proof.final_states.final_state import FinalState
from verification.proof.final_states.invalid_mutations import invalid_mutations
from verification.proof.final_states.mutations import Mutation, OracleRun
from verification.proof.final_states.valid_mutations import valid_mutations
from verification.proof.players.oracles import (
    MUTATION_LEVEL,
    NO_TRANSPORT_FAULTS,
    OUTCOMES,
    undisturbed_fair_trace,
    undisturbed_trace,
)
from verification.proof.reward_fuzz import outcome_cases, trace_of

RANDOM_TRACES = 240
_MANY_CASES, _FEW_CASES = 600, 120
"""Maximum number of mutations per kind, for the first instances and for the others."""

_SEARCHED_SEEDS = 60
"""Seeds among which instances of a scenario are selected."""

_CUTS = 6
"""Number of prefixes judged per episode, each with two declarations; they cover milestone payments."""

SHIFTS = (
    "shift-access_request-quarter_close",
    "shift-week",
)
"""Shifts whose final states are judged, besides those of all scenarios."""

_SEARCHED_SHIFTS = 24
"""Seeds among which the instance of a shift is selected."""

_WRONG_FINISH = FinishDeclaration(outcome=FinishOutcome.IMPOSSIBLE, summary="", reason_code=ReasonCode.DATA_UNAVAILABLE)

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclass(frozen=True, eq=False)
class CorpusCase:
    """One final state: the rubric's input, its verdict, and the functions that were executed."""

    stored: dict[str, Any]
    finish: FinishDeclaration | None
    summary: tuple[Any, ...]
    executed: frozenset[Function]

    def differs(self, rubric: TaskRubric) -> bool:
        """Return whether the rubric's verdict differs from the stored one."""
        return _verdict_summary(rubric, self.stored, self.finish) != self.summary


@dataclass(frozen=True, eq=False)
class CorpusTask:
    """One task with its cases. `executed` are the functions that build its rubric, `shape` its checks and rewards."""

    scenario: str
    cases: tuple[CorpusCase, ...]
    build_rubric: Callable[[], TaskRubric]
    executed: frozenset[Function]
    shape: tuple[Any, ...]


async def tasks_of(engine: EpisodeEngine, scenario: str, count: int) -> list[CorpusTask]:
    """Play instances of a scenario for each outcome and mutate their final states, most for the first ones."""
    seeds = instance_seeds(scenario, count)
    most = [_MANY_CASES if place < len(OUTCOMES) < len(seeds) else _FEW_CASES for place in range(len(seeds))]
    return [await task_of(engine, scenario, seed, most=limit) for seed, limit in zip(seeds, most, strict=True)]


async def task_of(engine: EpisodeEngine, scenario: str, seed: int, *, most: int = _FEW_CASES) -> CorpusTask:
    """Play an instance and mutate its final state: correct and incorrect mutations, variants and targeted variants."""
    oracle_run = await undisturbed_trace(engine, scenario, seed)
    foreign = await undisturbed_fair_trace(engine, scenario, seed + 1)
    named = [mutate for _, mutate in (*valid_mutations(oracle_run), *invalid_mutations(oracle_run, foreign))]
    stream = Stream("proof", "variants", scenario, seed)
    kinds = named, list(variants(oracle_run)), list(pointed_variants(oracle_run))
    drawn = [stream.sample(mutations, min(most, len(mutations))) for mutations in kinds]
    return _corpus_task(
        scenario,
        oracle_run,
        [mutate for mutations in (*drawn, targeted_variants(OracleRun(oracle_run))) for mutate in mutations],
    )


async def shift_tasks(engine: EpisodeEngine) -> list[CorpusTask]:
    """Play shifts with as many different features as possible, and vary their final states."""
    tasks = []
    seen: set[str] = set()
    for name in SHIFTS:
        features = {seed: _features(name, seed) for seed in range(_SEARCHED_SHIFTS)}
        seed = max(features, key=lambda seed: len(features[seed] - seen))
        seen |= features[seed]
        oracle_run = await undisturbed_fair_trace(engine, name, seed)
        mutations = list(variants(oracle_run))
        drawn = Stream("proof", "variants", name, seed).sample(mutations, min(_MANY_CASES, len(mutations)))
        tasks.append(_corpus_task(name, oracle_run, [*drawn, *SHIFT_VARIANTS]))
    return tasks


def _features(name: str, seed: int) -> set[str]:
    """Return the features of a shift's instance."""
    shift = find_scenario(catalogue(), name)
    assert shift is not None
    return set().union(*shift.plan(seed, MUTATION_LEVEL, NO_TRANSPORT_FAULTS).rubric.features.values())


def random_traces() -> tuple[Any, ...]:
    """Return the payments per step and the outcomes of random episodes, computed with the current reward code."""
    return outcome_cases(), *(trace_of(Stream("proof", "mutants", number)) for number in range(RANDOM_TRACES))


def shape_of(rubric: TaskRubric) -> tuple[Any, ...]:
    """Return the checks (id, passes_idle) and milestones (id, points) of a rubric."""
    check_shapes = tuple((check.id, check.passes_idle) for check in rubric.checks)
    return check_shapes, tuple((item.id, item.points) for item in rubric.milestones)


def _corpus_task(scenario: str, oracle_run: RecordedEpisode, mutations: Sequence[Mutation]) -> CorpusTask:
    build_rubric = oracle_run.instance.build_rubric
    assert build_rubric is not None, f"{scenario} does not declare how its rubric is built"
    with trace_calls() as executed:
        rubric = build_rubric()
    shared = _SharedRecords()
    cases = tuple(_cases(rubric, shared, oracle_run, _final_states(oracle_run, mutations)))
    return CorpusTask(scenario, _novel_first(cases), build_rubric, frozenset(executed), shape_of(rubric))


def _final_states(oracle_run: RecordedEpisode, mutations: Sequence[Mutation]) -> Iterator[FinalState]:
    for cut, finish in product(range(_CUTS), (oracle_run.finish, _WRONG_FINISH)):
        final_state = FinalState(oracle_run)
        final_state.cut(len(oracle_run.step_records) * cut // _CUTS)
        final_state.finish = finish
        yield final_state
    for mutate in mutations:
        final_state = FinalState(oracle_run)
        if _apply(final_state, mutate):
            yield final_state


def _apply(final_state: FinalState, mutate: Mutation) -> bool:
    """Apply a mutation; return False if it does not apply because its rows are missing."""
    try:
        mutate(final_state)
    except (AssertionError, LookupError):
        return False
    return True


class _SharedRecords:
    """Shares equal changes, calls and function sets among the states of a task, to save memory."""

    def __init__(self) -> None:
        self._changes: dict[bytes, Change] = {}
        self._calls: dict[bytes, RecordedCall] = {}
        self._ran: dict[frozenset[Function], frozenset[Function]] = {}

    def stored(self, final_state: FinalState) -> dict[str, Any]:
        """Return the stored form of a final state, with shared parts."""
        stored = final_state.stored()
        changes = {name: [self._change(row) for row in rows] for name, rows in stored["changes"].items()}
        return {
            **stored,
            "changes": changes,
            "audits": {n: [self._call(row) for row in rows] for n, rows in stored["audits"].items()},
        }

    def executed(self, functions: set[Function]) -> frozenset[Function]:
        """Return the functions as a shared set."""
        found = frozenset(functions)
        return self._ran.setdefault(found, found)

    def _change(self, change: dict[str, Any]) -> Change:
        text = orjson.dumps(change)
        if text not in self._changes:
            self._changes[text] = Change.model_validate(change)
        return self._changes[text]

    def _call(self, line: dict[str, Any]) -> RecordedCall:
        text = orjson.dumps(line)
        if text not in self._calls:
            self._calls[text] = RecordedCall.model_validate(line)
        return self._calls[text]


def _cases(
    rubric: TaskRubric, shared: _SharedRecords, oracle_run: RecordedEpisode, final_states: Iterator[FinalState]
) -> Iterator[CorpusCase]:
    """Yield the distinct cases."""
    seen: set[tuple[object, ...]] = set()
    for final_state in final_states:
        stored = shared.stored(final_state)
        identities = tuple(id(row) for part in ("changes", "audits") for rows in stored[part].values() for row in rows)
        planted = None if stored["initial"] is oracle_run.stored["initial"] else len(seen)
        key = identities, planted, repr(final_state.finish), stored["declared_at"]
        if key in seen:
            continue
        seen.add(key)
        with trace_calls() as executed:
            summary = _verdict_summary(rubric, stored, final_state.finish)
        yield CorpusCase(stored, final_state.finish, summary, shared.executed(executed))


def _verdict_summary(rubric: TaskRubric, stored: dict[str, Any], finish: FinishDeclaration | None) -> tuple[Any, ...]:
    """Return the rubric's verdict in its API form, or the name of the exception that an impossible state raises."""
    try:
        evidence = Evidence.from_json(stored)
        verdict = rubric.judge(evidence, finish)
        return verdict.closed, verdict.solved_share, to_episode_verdict(verdict, evidence).model_dump_json()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return (type(error).__name__,)


def _novel_first(cases: Sequence[CorpusCase]) -> tuple[CorpusCase, ...]:
    """Return the cases, ordered so that those with a new verdict come first."""
    seen_summaries: set[tuple[Any, ...]] = set()
    novel: list[CorpusCase] = []
    alike: list[CorpusCase] = []
    for case in cases:
        (alike if case.summary in seen_summaries else novel).append(case)
        seen_summaries.add(case.summary)
    return (*novel, *alike)


@lru_cache(maxsize=1)
def planned_cases(scenario: str) -> dict[int, ScenarioCase]:
    """Return the cases of a scenario among which instances are selected, by seed."""
    plan = catalogue()[scenario].plan
    return {seed: cast(RubricFactory, plan(seed, MUTATION_LEVEL).build_rubric).case for seed in range(_SEARCHED_SEEDS)}


def kind_of(case: ScenarioCase) -> tuple[str, ...]:
    """Return a case's variant, or the reason code and the tables to read if it must be refused."""
    tables = [fact.entity.partition("[")[0] for fact in case.outcome.facts]
    return (case.variant,) if case.refusal is None else (case.refusal.code, *tables)


def declared_solution(case: ScenarioCase) -> str:
    """Return the solution that the scenario's code currently declares, as text, or the exception that it raises."""
    try:
        return _ADDRESS.sub("", repr(case.declare()))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return repr(error)


def instance_seeds(scenario: str, count: int) -> list[int]:
    """Return up to `count` seeds each of feasible instances and of those that must be refused, alternating.

    Instances of a new kind come first: a new variant, or a new reason code and tables to read for a refusal.
    """
    kinds: dict[bool, dict[int, int]] = {False: {}, True: {}}
    seen: Counter[tuple[str, ...]] = Counter()
    for seed, case in planned_cases(scenario).items():
        kind = kind_of(case)
        kinds[case.refusal is not None][seed] = seen[kind]
        seen[kind] += 1
    ranked = [sorted(places, key=lambda seed: (places[seed], seed))[:count] for places in kinds.values()]
    return [seed for pair in zip_longest(*ranked) for seed in pair if seed is not None]
