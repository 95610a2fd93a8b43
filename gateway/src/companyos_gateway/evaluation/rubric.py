"""Rubrics: checks, milestones and damage rules, and the verdict on an episode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from companyos.contract import FinishOutcome, ReasonCode
from companyos_gateway.evaluation.evidence import Evidence

MAX_MILESTONE_POINTS = 9.0
"""Milestones pay at most this much in a scenario."""

DECLARED_CHECK_ID = "declared"
"""The check on what the agent declares with `finish`; it is part of every rubric."""

MAX_SUMMARY_CHARS = 2000
MAX_REFERENCE_CHARS = 128
MAX_ANSWERS = 32


class RubricError(ValueError):
    """Raised when a rubric is built that could not judge."""


class FinishDeclaration(BaseModel):
    """The agent's declaration with `finish`: outcome, reason, and the id of the fact behind it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    outcome: FinishOutcome
    summary: str = Field(max_length=MAX_SUMMARY_CHARS)
    reason_code: ReasonCode | None = None
    reason_ref: str | None = Field(None, max_length=MAX_REFERENCE_CHARS)
    answers: dict[str, Any] | None = Field(None, max_length=MAX_ANSWERS)

    @property
    def reason(self) -> str:
        """The reason in words: its code, and the id of the fact behind it."""
        parts = [str(one) for one in (self.reason_code, self.reason_ref) if one is not None]
        return " ".join(parts) or "no reason"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check with the evidence for it."""

    id: str
    passed: bool
    evidence: str


Finding = tuple[bool, str]
"""Whether something holds, and what says so."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold for success; `passes_idle` says whether it holds when nothing was done."""

    id: str
    passes_idle: bool
    evaluate: Callable[[Evidence], Finding]


@dataclass(frozen=True, slots=True)
class Milestone:
    """A step on the way that pays `points` while it stands."""

    id: str
    points: float
    is_reached: Callable[[Evidence], bool]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict of a rubric: potential in points, results of all checks, and damage.

    `damage` names the entities that were irreversibly damaged; they forfeit success. `rejections` counts the
    rejections of the agent's requests so far. `closed` says whether the agent has taken the task's closing act, such
    as resolving the entry ticket, right or wrong.
    """

    potential: float
    goal_met: bool
    success: bool
    damage: tuple[str, ...]
    rejections: int
    checks: tuple[CheckResult, ...]
    closed: bool = False


class TaskRubric:
    """The rubric of one task: a pure function of Evidence and of what the agent declares.

    Raises RubricError when built without a check that fails idle, or with an id twice.
    """

    def __init__(
        self,
        *,
        checks: Sequence[Check],
        milestones: Sequence[Milestone],
        declaration: Callable[[Evidence, FinishDeclaration | None], Finding],
        damage: Callable[[Evidence], Sequence[str]],
        rejections: Callable[[Evidence], int],
        is_closed: Callable[[Evidence], bool],
    ) -> None:
        ids = [check.id for check in checks] + [DECLARED_CHECK_ID]
        if len(set(ids)) != len(ids):
            raise RubricError(f"a check's id appears twice: {sorted(name for name in ids if ids.count(name) > 1)}")
        if all(check.passes_idle for check in checks):
            raise RubricError("no check fails when nothing is done")
        milestone_ids = [milestone.id for milestone in milestones]
        if len(set(milestone_ids)) != len(milestone_ids) or any(milestone.points <= 0 for milestone in milestones):
            raise RubricError("milestones have ids of their own and pay more than nothing")
        self.checks = tuple(checks)
        self.milestones = tuple(milestones)
        self._declaration = declaration
        self._damage = damage
        self._rejections = rejections
        self._is_closed = is_closed

    def with_checks(
        self,
        checks: Iterable[Check],
        damage: Callable[[Evidence], Sequence[str]],
        check_declaration: Callable[[Evidence, FinishDeclaration | None], Finding | None],
    ) -> TaskRubric:
        """Return this rubric with further checks, further damage and a further condition on the declaration.

        An entity that is damaged twice counts once. `check_declaration` returns a finding only if it objects.
        """

        def all_damage(evidence: Evidence) -> Sequence[str]:
            return list(dict.fromkeys([*self._damage(evidence), *damage(evidence)]))

        def declaration(evidence: Evidence, finish: FinishDeclaration | None) -> Finding:
            return check_declaration(evidence, finish) or self._declaration(evidence, finish)

        return TaskRubric(
            checks=[*self.checks, *checks],
            milestones=self.milestones,
            declaration=declaration,
            damage=all_damage,
            rejections=self._rejections,
            is_closed=self._is_closed,
        )

    def judge(self, evidence: Evidence, finish: FinishDeclaration | None) -> Verdict:
        """Return the verdict on an episode as it stands, `finish` being what the agent declared, if it did."""
        results = []
        for check in self.checks:
            passed, detail = check.evaluate(evidence)
            results.append(CheckResult(check.id, passed, detail))
        results.append(CheckResult(DECLARED_CHECK_ID, *self._declaration(evidence, finish)))
        damage = tuple(self._damage(evidence))
        goal_met = all(result.passed for result in results)
        return Verdict(
            potential=self.potential(evidence),
            goal_met=goal_met,
            success=goal_met and not damage,
            damage=damage,
            rejections=self._rejections(evidence),
            checks=tuple(results),
            closed=self._is_closed(evidence),
        )

    def potential(self, evidence: Evidence) -> float:
        """Return the points of the milestones that stand, at most MAX_MILESTONE_POINTS."""
        total = sum(milestone.points for milestone in self.milestones if milestone.is_reached(evidence))
        return min(MAX_MILESTONE_POINTS, float(total))
