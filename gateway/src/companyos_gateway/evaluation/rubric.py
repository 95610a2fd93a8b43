"""Rubrics: checks, milestones and damage rules, and the verdict on an episode."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from companyos.contract import FinishOutcome
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.milestones import Milestone, scale_milestones
from companyos_gateway.evaluation.mismatch import Mismatch
from companyos_shared.wire.company import ReasonCode

DECLARED_CHECK_ID = "declared"
"""ID of the check on the declaration with `finish`, which is part of every rubric."""

DECLARATION = "finish"
"""Name of the declaration in mismatches."""

MAX_SUMMARY_CHARS = 2000
MAX_REFERENCE_CHARS = 128
MAX_ANSWERS = 32


class RubricError(ValueError):
    """Raised if a rubric is created with invalid checks or milestones."""


class FinishDeclaration(BaseModel):
    """The agent's declaration with `finish`: outcome, reason, and the id of the fact behind it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    outcome: FinishOutcome
    summary: str = Field(max_length=MAX_SUMMARY_CHARS)
    reason_code: ReasonCode | None = Field(None, description="Reason for the refusal, or why the task is impossible.")
    reason_ref: str | None = Field(
        None, max_length=MAX_REFERENCE_CHARS, description="ID of the object behind the reason."
    )
    answers: dict[str, Any] | None = Field(
        None, max_length=MAX_ANSWERS, description="Values that the task asks for, by name."
    )

    @property
    def reason(self) -> str:
        """The reason as text: its code, and the id of the fact behind it."""
        parts = [str(one) for one in (self.reason_code, self.reason_ref) if one is not None]
        return " ".join(parts) or "no reason"


class CheckResult(NamedTuple):
    """Result of one check; `mismatch` is None if it passed.

    `is_goal` is true if the check fails when nothing is done. `caused_by` names the failed checks of which this failure
    is a consequence.
    """

    id: str
    mismatch: Mismatch | None = None
    caused_by: tuple[str, ...] = ()
    is_goal: bool = False

    @property
    def passed(self) -> bool:
        """Return whether the check holds."""
        return self.mismatch is None


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of success; `passes_idle` is true if it holds when nothing was done.

    `find_mismatch` returns None if it holds. `caused_by` names checks whose failure makes this one fail as well.
    """

    id: str
    passes_idle: bool
    find_mismatch: Callable[[Evidence], Mismatch | None]
    caused_by: tuple[str, ...] = ()


Declaration = Callable[[Evidence, FinishDeclaration | None], Mismatch | None]
"""Function that judges the agent's declaration; it returns None if the declaration is right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Standing of an episode after a step: all that its reward and its end depend on before the agent ends it.

    `potential` is the sum of the points of the milestones that are reached and paid at once, `at_end` of those that are
    paid at the end of the episode. `damage` names the entities that were irreversibly damaged. `rejections` counts the
    rejections of the agent's requests so far. `closed` is true if the agent has taken the task's closing act, such as
    resolving the entry ticket, right or wrong.
    """

    potential: float
    damage: tuple[str, ...]
    rejections: int
    closed: bool = False
    at_end: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Standing):
    """Verdict of a rubric: the standing of the episode, the results of all checks, and whether it is a success.

    Damage forfeits success. `cases` contains whether each case of a shift is solved, by the key of its ticket.
    `features` contains the number of tickets with each feature of the shift, and how many of those are solved.
    """

    success: bool
    checks: tuple[CheckResult, ...]
    cases: Mapping[str, bool] = field(default_factory=dict)
    features: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def solved_share(self) -> float:
        """The solved share of the task in [0, 1]: 0 or 1 for a single case, else the share of solved cases.

        Damage or a failed check that belongs to no case, such as that nothing else changed, makes it 0.
        """
        is_forfeit = bool(self.damage) or any(
            not one.passed and case_of(one.id) not in self.cases for one in self.checks
        )
        if self.success or not self.cases or is_forfeit:
            return float(self.success)
        return sum(self.cases.values()) / len(self.cases)

    @property
    def primary_failure(self) -> str | None:
        """The failed check that is the cause of the others, None if no check failed.

        Of several, the one that failed at the earliest step counts. Checks without a step come last: a wrong
        declaration first, then the others in the order of the rubric.
        """
        roots = [one for one in self.checks if one.mismatch is not None and not one.caused_by]
        first = min(roots, key=_failure_order, default=None)
        return None if first is None else first.id


def case_of(check_id: str) -> str | None:
    """Return the case of a shift that a check belongs to, None for a check of the whole task."""
    case, separator, _ = check_id.partition(":")
    return case if separator else None


def _failure_order(result: CheckResult) -> tuple[float, bool]:
    step = None if result.mismatch is None else result.mismatch.step
    return math.inf if step is None else step, result.id != DECLARED_CHECK_ID


class TaskRubric:
    """The rubric of one task: a pure function of Evidence and the agent's declaration.

    Raises RubricError if every check passes idle, an id is used twice, a milestone pays nothing, or checks cause each
    other.
    """

    def __init__(
        self,
        *,
        checks: Sequence[Check],
        milestones: Sequence[Milestone],
        declaration: Declaration,
        damage: Callable[[Evidence], Sequence[str]],
        rejections: Callable[[Evidence], int],
        is_closed: Callable[[Evidence], bool],
        declared_caused_by: tuple[str, ...] = (),
        cases: Iterable[str] = (),
        features: Mapping[str, Collection[str]] = MappingProxyType({}),
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
        self.milestones = scale_milestones(milestones)
        self._keyed_checks = tuple(((self, "check", check.id), check) for check in self.checks)
        self._keyed_milestones = tuple(((self, "milestone", one.id), one) for one in self.milestones)
        self._declaration = declaration
        self._damage = damage
        self._rejections = rejections
        self._is_closed = is_closed
        self.cases = tuple(cases)
        self.features = features
        goals = {check.id for check in checks if not check.passes_idle}
        self._passed = {name: CheckResult(name, is_goal=name in goals) for name in ids}
        self._causes = {check.id: check.caused_by for check in checks} | {DECLARED_CHECK_ID: declared_caused_by}
        if cycle := _find_cycle(self._causes):
            raise RubricError(f"checks that cause each other: {cycle}")

    def with_checks(
        self,
        checks: Iterable[Check],
        damage: Callable[[Evidence], Sequence[str]],
        check_declaration: Declaration,
    ) -> TaskRubric:
        """Return this rubric with further checks, further damage and a further condition on the declaration.

        An entity that is damaged twice counts once.
        """

        def all_damage(evidence: Evidence) -> Sequence[str]:
            return list(dict.fromkeys([*self._find_damage(evidence), *damage(evidence)]))

        def declaration(evidence: Evidence, finish: FinishDeclaration | None) -> Mismatch | None:
            return check_declaration(evidence, finish) or self._declaration(evidence, finish)

        return TaskRubric(
            checks=[*self.checks, *checks],
            milestones=self.milestones,
            declaration=declaration,
            damage=all_damage,
            rejections=self._rejections,
            is_closed=self._is_closed,
            declared_caused_by=self._causes[DECLARED_CHECK_ID],
            cases=self.cases,
            features=self.features,
        )

    def standing(self, evidence: Evidence) -> Standing:
        """Return the standing of an episode."""
        kept = evidence.memoize
        return Standing(
            potential=self.potential(evidence, at_end=False),
            at_end=self.potential(evidence, at_end=True),
            damage=self._find_damage(evidence),
            rejections=kept((self, "rejections"), partial(self._rejections, evidence)),
            closed=kept((self, "closed"), partial(self._is_closed, evidence)),
        )

    def _find_damage(self, evidence: Evidence) -> tuple[str, ...]:
        return evidence.memoize((self, "damage"), lambda: tuple(self._damage(evidence)))

    def judge(self, evidence: Evidence, finish: FinishDeclaration | None) -> Verdict:
        """Return the verdict on an episode; `finish` is the agent's declaration, None if there is none."""
        kept = evidence.memoize
        mismatches = {check.id: kept(key, partial(check.find_mismatch, evidence)) for key, check in self._keyed_checks}
        declared = partial(self._declaration, evidence, finish)
        mismatches[DECLARED_CHECK_ID] = kept((self, "undeclared"), declared) if finish is None else declared()
        failed = {name for name, mismatch in mismatches.items() if mismatch is not None}
        standing = self.standing(evidence)
        unsolved = {case_of(name) for name in failed} if self.cases else ()
        return Verdict(
            potential=standing.potential,
            at_end=standing.at_end,
            damage=standing.damage,
            rejections=standing.rejections,
            closed=standing.closed,
            success=not failed and not standing.damage,
            checks=tuple(self._result(name, mismatch, failed) for name, mismatch in mismatches.items()),
            cases={case: case not in unsolved for case in self.cases},
            features={
                name: self._count_solved(name, unsolved) for name in sorted(set().union(*self.features.values()))
            },
        )

    def _count_solved(self, feature: str, unsolved: Collection[str | None]) -> tuple[int, int]:
        asking = [ticket for ticket, names in self.features.items() if feature in names]
        return len(asking), sum(ticket not in unsolved for ticket in asking)

    def _result(self, name: str, mismatch: Mismatch | None, failed: set[str]) -> CheckResult:
        passed = self._passed[name]
        if mismatch is None:
            return passed
        return CheckResult(name, mismatch, tuple(filter(failed.__contains__, self._causes[name])), passed.is_goal)

    def potential(self, evidence: Evidence, *, at_end: bool) -> float:
        """Return the sum of the points of the reached milestones that are paid at the end, or of those paid before."""
        return math.fsum(
            milestone.points
            for key, milestone in self._keyed_milestones
            if milestone.at_end is at_end and evidence.memoize(key, partial(milestone.is_reached, evidence))
        )


def _find_cycle(causes: Mapping[str, tuple[str, ...]]) -> str | None:
    """Return the checks that cause each other as text, None if there are none."""
    try:
        tuple(TopologicalSorter(causes).static_order())
    except CycleError as error:
        return ", ".join(error.args[1])
    return None
