"""Figures that are reported: what the authority says, whether the agent has read it, how old it was when used."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.cases import MetricSpec
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.facts import Fact
from companyos_gateway.evaluation.mismatch import Mismatch, format_age, format_value, row_path
from companyos_shared.choices import same_choice
from companyos_shared.wire.control import Change

ALWAYS = sys.maxsize
"""Later than every step."""

MAINTENANCE = "maintenance-window"
"""The code of a refresh that is refused because its source is in maintenance."""


@dataclass(frozen=True)
class ReportedValue:
    """One key of one subject, by the source that is the authority on it."""

    key: str
    subject: str
    spec: MetricSpec

    def metric(self, evidence: Evidence) -> row_views.MetricView | None:
        """Return the authority's metric as it is now."""
        row = evidence.row(row_views.DATAHUB, "metrics", self.spec.metric_id)
        return None if row is None else row_views.parse_metric(row)

    def value(self, evidence: Evidence) -> float | None:
        """Return what the authority says now, in the unit that the task is about."""
        metric = self.metric(evidence)
        return None if metric is None else metric.value / self.spec.per_unit

    def is_fresh_at(self, evidence: Evidence, moment: datetime | None) -> bool:
        """Say whether what the authority says now was fresh at a moment."""
        metric = self.metric(evidence)
        return metric is not None and moment is not None and moment - metric.as_of <= self.spec.max_age

    @property
    def row_path(self) -> str:
        """The authority's metric."""
        return row_path(row_views.DATAHUB, "metrics", self.spec.metric_id)

    def fact(self) -> Fact:
        """Return the fact that is the value, fresh."""
        return Fact(self.row_path, f"a value at most {format_age(self.spec.max_age)} old", self.was_known)

    def find_unread(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the agent was never shown the value that the authority gives now."""
        metric = self.metric(evidence)
        if self._was_shown(evidence, metric, before=ALWAYS):
            return None
        value = None if metric is None else metric.value
        return Mismatch(self.row_path, f"value {format_value(value)}, shown to the agent", "not shown")

    def was_known(self, evidence: Evidence, change: Change) -> bool:
        """Return whether the agent had been shown the value that the authority gave at a change, and it was fresh."""
        then = evidence.metric_at(self.spec.metric_id, change.step)
        if then is None or change.at - then.as_of > self.spec.max_age:
            return False
        return self._was_shown(evidence, then, before=change.step)

    def _was_shown(self, evidence: Evidence, metric: row_views.MetricView | None, *, before: int) -> bool:
        return metric is not None and evidence.knew(
            self.spec.metric_id, before=before, value=metric.value, as_of=metric.as_of
        )

    def failures_fact(self, count: int) -> Fact:
        """Return the fact that refreshes of the agent's had failed so many times."""

        def was_known(evidence: Evidence, change: Change) -> bool:
            jobs = (
                row_views.parse_refresh_job(row)
                for key in evidence.changed_keys(row_views.DATAHUB, "refresh_jobs")
                if (row := evidence.row_at(row_views.DATAHUB, "refresh_jobs", key, change.step - 1)) is not None
            )
            failed = sum(1 for job in jobs if job.metric_id == self.spec.metric_id and job.status == "failed")
            return failed >= count

        return Fact(self.row_path, f"{count} failed refreshes", was_known)

    def maintenance_fact(self) -> Fact:
        """Return the fact that the source is in maintenance."""

        def was_known(evidence: Evidence, change: Change) -> bool:
            return evidence.knew(self.spec.source_id, "maintenance_from", before=change.step) or any(
                line.step < change.step
                and line.code == MAINTENANCE
                and line.arguments.get("metric_id") == self.spec.metric_id
                for line in evidence.audits(row_views.DATAHUB)
            )

        return Fact(row_path(row_views.DATAHUB, "sources", self.spec.source_id), "its maintenance window", was_known)


NUMERIC_TOLERANCE = 1e-9
"""By how much numbers may differ that are the same: as much as arithmetic costs."""

Answer = float | str
ANSWERS = "finish.answers"


@dataclass(frozen=True)
class Question:
    """One thing that is asked: the name of its answer, and what the facts say; None where they say nothing."""

    name: str
    answer: Callable[[Evidence], Answer | None]


def check_answers(
    questions: Sequence[Question], evidence: Evidence, submitted: Mapping[str, Any] | None
) -> Mismatch | None:
    """Return the first answer that is missing, wrong or not asked for, None if every answer is right."""
    answers = submitted or {}
    names = [question.name for question in questions]
    unexpected = sorted(answers.keys() - set(names))
    if unexpected:
        return Mismatch(ANSWERS, f"answers to {', '.join(names)}", f"also {', '.join(unexpected)}")
    for question in questions:
        expected, given = question.answer(evidence), answers.get(question.name)
        if not is_same_answer(given, expected):
            name = question.name
            return Mismatch(ANSWERS, f"{name}: {format_value(expected)}", f"{name}: {format_value(given)}")
    return None


def is_same_answer(submitted: Any, expected: Answer | None) -> bool:
    """Return whether an answer equals the expected one; numbers compare by value, strings and booleans do not."""
    if expected is None or submitted is None:
        return False
    if isinstance(expected, str):
        return isinstance(submitted, str) and same_choice(submitted, expected)
    if isinstance(submitted, bool) or not isinstance(submitted, int | float):
        return False
    try:
        return math.isclose(submitted, expected, rel_tol=NUMERIC_TOLERANCE, abs_tol=NUMERIC_TOLERANCE)
    except OverflowError:
        return False
