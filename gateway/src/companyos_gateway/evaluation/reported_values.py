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
from companyos_gateway.evaluation.rubric import Finding
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

    def was_read(self, evidence: Evidence) -> bool:
        """Return whether the agent was shown the value that the authority gives now."""
        return self._was_shown(evidence, self.metric(evidence), before=ALWAYS)

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

    def failed_refreshes(self, evidence: Evidence, *, before_step: int) -> int:
        """Return how many refreshes of the agent's had failed before a step."""
        jobs = (
            row_views.parse_refresh_job(row)
            for key in evidence.changed_keys(row_views.DATAHUB, "refresh_jobs")
            if (row := evidence.row_at(row_views.DATAHUB, "refresh_jobs", key, before_step - 1)) is not None
        )
        return sum(1 for job in jobs if job.metric_id == self.spec.metric_id and job.status == "failed")

    def was_seen_in_maintenance(self, evidence: Evidence, *, before_step: int) -> bool:
        """Return whether the agent had seen before a step that the source is in maintenance."""
        return evidence.knew(self.spec.source_id, "maintenance_from", before=before_step) or any(
            line.step < before_step
            and line.code == MAINTENANCE
            and line.arguments.get("metric_id") == self.spec.metric_id
            for line in evidence.audits(row_views.DATAHUB)
        )


NUMERIC_TOLERANCE = 1e-9
"""By how much numbers may differ that are the same: as much as arithmetic costs."""

Answer = float | str


@dataclass(frozen=True)
class Question:
    """One thing that is asked: the name of its answer, and what the facts say; None where they say nothing."""

    name: str
    answer: Callable[[Evidence], Answer | None]


def check_answers(questions: Sequence[Question], evidence: Evidence, submitted: Mapping[str, Any] | None) -> Finding:
    """Judge whether the answers are those to the questions, each right and none beside them."""
    answers = submitted or {}
    names = [question.name for question in questions]
    unexpected = sorted(answers.keys() - set(names))
    if unexpected:
        return False, f"answers that nobody asked for: {', '.join(unexpected)}"
    wrong = [one.name for one in questions if not is_same_answer(answers.get(one.name), one.answer(evidence))]
    return (not wrong), (f"not answered, or wrongly: {', '.join(wrong)}" if wrong else "every answer is right")


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
