"""The corpus that mutants are held against: ends of every scenario with their verdicts, and drawn ledgers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from companyos_gateway.episode.environment import Stage
from companyos_gateway.proof.code.aimed import aimed
from companyos_gateway.proof.code.instances import INSTANCES
from companyos_gateway.proof.code.reach import Function, reached
from companyos_gateway.proof.code.variants import pointed_variants, variants
from companyos_gateway.proof.ledgers import ends, walked
from companyos_gateway.proof.players.oracles import BENT_LEVEL, FAIR, OUTCOMES, STRAIGHT, fair_of, straight_way
from companyos_gateway.proof.playing import Kept, keep
from companyos_gateway.proof.states.bends import Bend, Way
from companyos_gateway.proof.states.ending import Ending
from companyos_gateway.proof.states.right import right_bends
from companyos_gateway.proof.states.wrong import wrong_bends
from companyos_gateway.rubrics import Evidence, FinishDeclaration, TaskRubric, Verdict
from companyos_shared.streams import Stream
from companyos_shared.wire.control import AuditLine, Change

LEDGERS = 80
_MANY, _FEW = 600, 120
"""How many right and wrong ends, and how many variants, are judged of the first instances and of the others."""

_CUTS = 6
"""How many beginnings of each episode are judged: what milestones pay shows on the way."""


@dataclass(frozen=True, eq=False)
class End:
    """One end: what a rubric is given, what it said, and which functions it ran for that."""

    stored: dict[str, Any]
    finish: FinishDeclaration | None
    said: tuple[Any, ...]
    ran: frozenset[Function]

    def is_told(self, rubric: TaskRubric) -> bool:
        """Say whether the rubric says anything else of it now."""
        return _said(rubric, self.stored, self.finish) != self.said


@dataclass(frozen=True, eq=False)
class Task:
    """One task with its ends; `ran` are the functions that build its rubric, and `shape` is what that asks and pays."""

    scenario: str
    ends: tuple[End, ...]
    anew: Callable[[], TaskRubric]
    ran: frozenset[Function]
    shape: tuple[Any, ...]


async def tasks_of(stage: Stage, scenario: str, count: int) -> list[Task]:
    """Play so many instances of a scenario of each outcome, and bend their ends: those of the first ones most."""
    seeds = INSTANCES[scenario][: len(OUTCOMES) * count]
    most = [_MANY if place < len(OUTCOMES) < len(seeds) else _FEW for place in range(len(seeds))]
    return [await task_of(stage, scenario, seed, most=limit) for seed, limit in zip(seeds, most, strict=True)]


async def task_of(stage: Stage, scenario: str, seed: int, *, most: int) -> Task:
    """Play an instance and bend its end in drawn ways: right and wrong ones, variants, and all that is aimed."""
    way = await straight_way(stage, scenario, seed)
    foreign = await keep(stage, scenario, FAIR, fair_of(scenario), seed=seed + 1, chaos=BENT_LEVEL, overrides=STRAIGHT)
    named = [bend for _, bend in (*right_bends(way), *wrong_bends(way, foreign))]
    stream = Stream("proof", "variants", scenario, seed)
    kinds = named, list(variants(way)), list(pointed_variants(way))
    drawn = [stream.sample(bends, min(most, len(bends))) for bends in kinds]
    return _task(scenario, way, [bend for bends in (*drawn, aimed(Way(way))) for bend in bends])


def ledgers() -> tuple[Any, ...]:
    """Return what drawn episodes are paid, step by step, and when episodes end, as rewards work now."""
    return ends(), *(walked(Stream("proof", "mutants", number)) for number in range(LEDGERS))


def shape_of(rubric: TaskRubric) -> tuple[Any, ...]:
    """Return what a rubric asks for and pays, before anything is judged."""
    asked = tuple((one.id, one.passes_idle) for one in rubric.checks)
    return asked, tuple((one.id, one.points) for one in rubric.milestones)


def _task(scenario: str, way: Kept, bends: Sequence[Bend]) -> Task:
    anew = way.instance.rubric_anew
    assert anew is not None, f"{scenario} does not say how its rubric is built"
    with reached() as ran:
        rubric = anew()
    shared = _Shared()
    ends = tuple(_ends(rubric, shared, way, _endings(way, bends)))
    return Task(scenario, _novel_first(ends), anew, frozenset(ran), shape_of(rubric))


def _endings(way: Kept, bends: Sequence[Bend]) -> Iterator[Ending]:
    for cut in range(_CUTS):
        ending = Ending(way)
        ending.cut(len(way.acts) * cut // _CUTS)
        yield ending
    for bend in bends:
        ending = Ending(way)
        if _is_bent(ending, bend):
            yield ending


def _is_bent(ending: Ending, bend: Bend) -> bool:
    """Bend an ending, and say whether it could be: rows that a bend is about may not be there."""
    try:
        bend(ending)
    except (AssertionError, LookupError):
        return False
    return True


class _Shared:
    """Changes and calls that are alike in the ends of a task, once each: most of an end is as it was."""

    def __init__(self) -> None:
        self._changes: dict[str, Change] = {}
        self._calls: dict[str, AuditLine] = {}
        self._ran: dict[frozenset[Function], frozenset[Function]] = {}

    def stored(self, ending: Ending) -> dict[str, Any]:
        """Return what is stored of an ending, of parts that are shared."""
        stored = ending.stored()
        changes = {name: [self._change(one) for one in rows] for name, rows in stored["changes"].items()}
        return {
            **stored,
            "changes": changes,
            "audits": {n: [self._call(one) for one in rows] for n, rows in stored["audits"].items()},
        }

    def ran(self, functions: set[Function]) -> frozenset[Function]:
        """Return the functions."""
        found = frozenset(functions)
        return self._ran.setdefault(found, found)

    def _change(self, change: dict[str, Any]) -> Change:
        text = json.dumps(change)
        if text not in self._changes:
            self._changes[text] = Change.model_validate(change)
        return self._changes[text]

    def _call(self, line: dict[str, Any]) -> AuditLine:
        text = json.dumps(line)
        if text not in self._calls:
            self._calls[text] = AuditLine.model_validate(line)
        return self._calls[text]


def _ends(rubric: TaskRubric, shared: _Shared, way: Kept, endings: Iterator[Ending]) -> Iterator[End]:
    """Yield the ends, each but once."""
    seen: set[tuple[object, ...]] = set()
    for ending in endings:
        stored = shared.stored(ending)
        told = tuple(id(one) for part in ("changes", "audits") for rows in stored[part].values() for one in rows)
        planted = None if stored["initial"] is way.stored["initial"] else len(seen)
        mark = told, planted, repr(ending.finish), stored["declared_at"]
        if mark in seen:
            continue
        seen.add(mark)
        with reached() as ran:
            said = _said(rubric, stored, ending.finish)
        yield End(stored, ending.finish, said, shared.ran(ran))


def _said(rubric: TaskRubric, stored: dict[str, Any], finish: FinishDeclaration | None) -> tuple[Any, ...]:
    """Return what a rubric says of an end; of one that no service could report, on what it breaks."""
    try:
        return _summed(rubric.judge(Evidence.from_json(stored), finish))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return (type(error).__name__,)


def _novel_first(ends: Sequence[End]) -> tuple[End, ...]:
    """Return the ends with those first that are unlike all before them: they tell most."""
    heard: set[tuple[Any, ...]] = set()
    novel: list[End] = []
    alike: list[End] = []
    for end in ends:
        (alike if end.said in heard else novel).append(end)
        heard.add(end.said)
    return (*novel, *alike)


def _summed(verdict: Verdict) -> tuple[Any, ...]:
    """Return all of a verdict but its words."""
    passed = tuple((one.id, one.passed) for one in verdict.checks)
    return verdict.success, verdict.potential, verdict.damage, verdict.rejections, passed
