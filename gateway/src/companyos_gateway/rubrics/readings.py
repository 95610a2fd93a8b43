"""A metric of a task: whether the agent had it refreshed, what it was when it was used, and how old."""

from __future__ import annotations

from dataclasses import dataclass

from companyos_gateway.rubrics import facts
from companyos_gateway.rubrics.cases import Reading
from companyos_gateway.rubrics.evidence import Evidence
from companyos_gateway.rubrics.requests import FieldRecord
from companyos_shared.wire.control import Change


@dataclass(frozen=True)
class ReadingRules:
    """What is asked of a metric."""

    reading: Reading

    def value_record(self) -> FieldRecord:
        """Return the metric's value, in the unit that the task is about, as the system of record of a field."""

        def value(evidence: Evidence, step: int) -> float | None:
            metric = evidence.metric_at(self.reading.metric_id, step)
            return None if metric is None else metric.value / self.reading.per_unit

        return value

    def date_record(self) -> FieldRecord:
        """Return the metric's date as the system of record of a field."""
        return lambda evidence, step: (
            None if (metric := evidence.metric_at(self.reading.metric_id, step)) is None else metric.as_of
        )

    def is_refreshed(self, evidence: Evidence) -> bool:
        """Say whether a refresh of the agent's has delivered."""
        place = (facts.DATAHUB, "metrics", self.reading.metric_id)
        return any(change.cause is not None for change in evidence.row_changes(*place))

    def known_at(self, evidence: Evidence, change: Change | None) -> float | None:
        """Return the value at a change where it was fresh then, else None."""
        metric = None if change is None else evidence.metric_at(self.reading.metric_id, change.step)
        if change is None or metric is None or change.at - metric.as_of > self.reading.max_age:
            return None
        return metric.value / self.reading.per_unit


def constant(given: str | int | float | bool) -> FieldRecord:
    """Return the system of record of a field whose value stands from the start."""
    return lambda _evidence, _step: given
