"""Checks of a metric: whether the agent refreshed it, and its value and age when it was used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.cases import MetricSpec
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.facts import LAST_STEP, Fact, FailedRefreshes, Moment
from companyos_gateway.evaluation.mismatch import Mismatch, format_age, row_path
from companyos_gateway.evaluation.rubric import Check

MAINTENANCE = "maintenance-window"
"""Error code of a refresh that is rejected because the source is in maintenance."""


@dataclass(frozen=True)
class MetricChecks:
    """Checks of one metric."""

    spec: MetricSpec

    def value_at(self, evidence: Evidence, step: int = LAST_STEP) -> float | None:
        """Return the metric's value as of a step, in the unit of the task."""
        metric = evidence.metric_at(self.spec.metric_id, step)
        return None if metric is None else metric.value / self.spec.per_unit

    def is_refreshed(self, evidence: Evidence) -> bool:
        """Return whether a refresh that the agent started has updated the metric."""
        row_key = (row_views.DATAHUB, "metrics", self.spec.metric_id)
        return any(change.cause is not None for change in evidence.row_changes(*row_key))

    def refreshed_check(self, check_id: str) -> Check:
        """Return the check that a refresh that the agent started has updated the metric."""

        def find_mismatch(evidence: Evidence) -> Mismatch | None:
            if self.is_refreshed(evidence):
                return None
            row = evidence.row(row_views.DATAHUB, "metrics", self.spec.metric_id)
            found = "no such metric" if row is None else f"not refreshed, as of {row['as_of']}"
            return Mismatch(self.row_path, f"refreshed: it may be {format_age(self.spec.max_age)} old at most", found)

        return Check(check_id, False, find_mismatch)

    def fact(self, decides: Callable[[float], bool] | None = None) -> Fact:
        """Return the fact given by the metric's value: fresh and, if `decides` is given, accepted by it."""

        def was_known(evidence: Evidence, moment: Moment) -> bool:
            metric = evidence.metric_at(self.spec.metric_id, moment.step)
            if metric is None or moment.at - metric.as_of > self.spec.max_age:
                return False
            is_shown = evidence.knew(self.spec.metric_id, before=moment.step, value=metric.value, as_of=metric.as_of)
            return is_shown and (decides is None or decides(metric.value / self.spec.per_unit))

        condition = "" if decides is None else " that decides it"
        return Fact(self.row_path, f"a value at most {format_age(self.spec.max_age)} old{condition}", was_known)

    def above_fact(self, limit: float) -> Fact:
        """Return the fact that the metric's value is fresh and above a limit, in the unit of the task."""
        return self.fact(lambda value: value > limit)

    def below_fact(self, limit: float) -> Fact:
        """Return the fact that the metric's value is fresh and below a limit, in the unit of the task."""
        return self.fact(lambda value: value < limit)

    def earlier_value_fact(self, value: float) -> Fact:
        """Return the fact that the metric had a value at some time, in the unit of the task."""
        recorded = value * self.spec.per_unit

        def was_known(evidence: Evidence, moment: Moment) -> bool:
            return evidence.knew(self.spec.metric_id, "as_of", before=moment.step, value=recorded)

        return Fact(self.row_path, f"the earlier value {recorded:g}", was_known)

    def failures_fact(self, count: int) -> Fact:
        """Return the fact that at least `count` refreshes by the agent have failed."""

        def was_known(evidence: Evidence, moment: Moment) -> bool:
            keys = evidence.changed_keys(row_views.DATAHUB, "refresh_jobs")
            jobs = (evidence.row(row_views.DATAHUB, "refresh_jobs", key, moment.step - 1) for key in keys)
            failed = (self.spec.metric_id, "failed")
            return sum(job is not None and (job["metric_id"], job["status"]) == failed for job in jobs) >= count

        return FailedRefreshes(self.row_path, f"{count} failed refreshes", was_known, self.spec.metric_id, count)

    def maintenance_fact(self) -> Fact:
        """Return the fact that the source is in maintenance, which a rejected refresh also shows."""

        def was_known(evidence: Evidence, moment: Moment) -> bool:
            return evidence.knew(self.spec.source_id, "maintenance_from", before=moment.step) or any(
                line.step < moment.step
                and line.code == MAINTENANCE
                and line.arguments.get("metric_id") == self.spec.metric_id
                for line in evidence.audits(row_views.DATAHUB)
            )

        return Fact(row_path(row_views.DATAHUB, "sources", self.spec.source_id), "its maintenance window", was_known)

    @property
    def row_path(self) -> str:
        """Path of the metric."""
        return row_path(row_views.DATAHUB, "metrics", self.spec.metric_id)
