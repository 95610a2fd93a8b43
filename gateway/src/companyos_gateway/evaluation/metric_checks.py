"""A metric of a task: whether the agent had it refreshed, what it was when it was used, and how old."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.approval_requests import FieldSource
from companyos_gateway.evaluation.cases import MetricSpec
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.facts import Fact
from companyos_gateway.evaluation.mismatch import Mismatch, format_age, row_path
from companyos_gateway.evaluation.rubric import Check
from companyos_shared.wire.control import Change


@dataclass(frozen=True)
class MetricChecks:
    """Checks of one metric."""

    spec: MetricSpec

    def value_source(self) -> FieldSource:
        """Return the metric's value, in the unit that the task is about, as the system of record of a field."""

        def value(evidence: Evidence, step: int) -> float | None:
            metric = evidence.metric_at(self.spec.metric_id, step)
            return None if metric is None else metric.value / self.spec.per_unit

        return value

    def timestamp_source(self) -> FieldSource:
        """Return the metric's date as the system of record of a field."""
        return lambda evidence, step: (
            None if (metric := evidence.metric_at(self.spec.metric_id, step)) is None else metric.as_of
        )

    def is_refreshed(self, evidence: Evidence) -> bool:
        """Say whether a refresh of the agent's has delivered."""
        row_key = (row_views.DATAHUB, "metrics", self.spec.metric_id)
        return any(change.cause is not None for change in evidence.row_changes(*row_key))

    def refreshed_check(self, check_id: str) -> Check:
        """Return the check that a refresh of the agent's has delivered."""

        def find_mismatch(evidence: Evidence) -> Mismatch | None:
            if self.is_refreshed(evidence):
                return None
            row = evidence.row(row_views.DATAHUB, "metrics", self.spec.metric_id)
            found = "no such metric" if row is None else f"not refreshed, as of {row['as_of']}"
            return Mismatch(self.row_path, f"refreshed: it may be {format_age(self.spec.max_age)} old at most", found)

        return Check(check_id, False, find_mismatch)

    def fact(self, decides: Callable[[float], bool]) -> Fact:
        """Return the fact that is the metric's value: fresh, and one by which the decision is right."""

        def was_known(evidence: Evidence, change: Change) -> bool:
            metric = evidence.metric_at(self.spec.metric_id, change.step)
            if metric is None or change.at - metric.as_of > self.spec.max_age:
                return False
            is_shown = evidence.knew(self.spec.metric_id, before=change.step, value=metric.value, as_of=metric.as_of)
            return is_shown and decides(metric.value / self.spec.per_unit)

        return Fact(self.row_path, f"a value at most {format_age(self.spec.max_age)} old that decides it", was_known)

    @property
    def row_path(self) -> str:
        """The metric."""
        return row_path(row_views.DATAHUB, "metrics", self.spec.metric_id)


def constant_source(value: str | int | float | bool) -> FieldSource:
    """Return the system of record of a field whose value stands from the start."""
    return lambda _evidence, _step: value


def sum_source(record_ids: Collection[str], name: str, *, state: str) -> FieldSource:
    """Return the sum of a field over records, known once each of them is in that state."""

    def total(evidence: Evidence, step: int) -> int | float | None:
        rows = [evidence.row_at(row_views.DATAHUB, "records", record_id, step) for record_id in record_ids]
        values = [row["fields"][name] for row in rows if row is not None and row["state"] == state]
        return sum(values) if len(values) == len(rows) else None

    return total
