"""The corpus that mutants are held against: ends of every scenario with their verdicts, and drawn ledgers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from companyos_gateway.episode.environment import Stage
from companyos_gateway.proof.code.variants import variants
from companyos_gateway.proof.ledgers import walked
from companyos_gateway.proof.players.oracles import (
    BENT_LEVEL,
    FAIR,
    OUTCOMES,
    STRAIGHT,
    fair_of,
    straight_seed,
    straight_way,
)
from companyos_gateway.proof.playing import Kept, keep
from companyos_gateway.proof.states.bends import Bend
from companyos_gateway.proof.states.ending import Ending
from companyos_gateway.proof.states.right import right_bends
from companyos_gateway.proof.states.wrong import wrong_bends
from companyos_gateway.rubrics import Evidence, FinishDeclaration, TaskRubric, Verdict
from companyos_gateway.scenarios import catalogue
from companyos_shared.streams import Stream

LEDGERS = 80
_CUTS = 6
"""How many beginnings of each episode are judged: what milestones pay shows on the way."""


@dataclass(frozen=True)
class End:
    """One end: what a rubric is given."""

    stored: dict[str, Any]
    finish: FinishDeclaration | None
    evidence: Evidence


@dataclass(frozen=True)
class Task:
    """One task with its ends and what the rubric said of them."""

    scenario: str
    seed: int
    ends: tuple[End, ...]
    said: tuple[tuple[Any, ...], ...]
    shape: tuple[Any, ...]

    def rubric(self) -> TaskRubric:
        """Build the rubric anew."""
        return catalogue()[self.scenario].plan(self.seed, BENT_LEVEL, STRAIGHT).rubric

    def tells(self, *, reads_again: bool) -> bool:
        """Say whether the rubric, as it works now, says anything else of any end.

        Evidence is read again from what is stored where reading itself may be another.
        """
        rubric = self.rubric()
        if _shape(rubric) != self.shape:
            return True
        for end, said in zip(self.ends, self.said, strict=True):
            evidence = Evidence.from_json(end.stored) if reads_again else end.evidence
            if _summed(rubric.judge(evidence, end.finish)) != said:
                return True
        return False


async def tasks_of(stage: Stage, scenario: str, first: int) -> list[Task]:
    """Play a feasible instance of a scenario and one that must be refused, and bend their ends."""
    tasks = []
    for outcome in OUTCOMES:
        seed = straight_seed(scenario, first, outcome)
        way = await straight_way(stage, scenario, seed)
        foreign = await keep(
            stage, scenario, FAIR, fair_of(scenario), seed=seed + 1, chaos=BENT_LEVEL, overrides=STRAIGHT
        )
        bends = [bend for _, bend in (*right_bends(way), *wrong_bends(way, foreign))]
        ends = tuple(_ends(way, [*bends, *variants(way)]))
        rubric = catalogue()[scenario].plan(seed, BENT_LEVEL, STRAIGHT).rubric
        said = tuple(_summed(rubric.judge(end.evidence, end.finish)) for end in ends)
        tasks.append(Task(scenario, seed, ends, said, _shape(rubric)))
    return tasks


def ledgers() -> tuple[Any, ...]:
    """Return what drawn episodes are paid, step by step, as rewards work now."""
    return tuple(walked(Stream("proof", "mutants", number)) for number in range(LEDGERS))


def _ends(way: Kept, bends: Sequence[Bend]) -> Iterator[End]:
    for cut in range(_CUTS):
        ending = Ending(way)
        ending.cut(len(way.acts) * cut // _CUTS)
        yield _end(ending)
    for bend in bends:
        ending = Ending(way)
        bend(ending)
        yield _end(ending)


def _end(ending: Ending) -> End:
    return End(ending.stored(), ending.finish, ending.evidence())


def _shape(rubric: TaskRubric) -> tuple[Any, ...]:
    """Return what a rubric asks for and pays, before anything is judged."""
    asked = tuple((one.id, one.passes_idle) for one in rubric.checks)
    return asked, tuple((one.id, one.points) for one in rubric.milestones)


def _summed(verdict: Verdict) -> tuple[Any, ...]:
    """Return all of a verdict but its words."""
    passed = tuple((one.id, one.passed) for one in verdict.checks)
    return verdict.success, verdict.potential, verdict.damage, verdict.rejections, passed
