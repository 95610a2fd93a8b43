"""Figures that are reported: what the authority says, whether the agent has read it, how old it was when used."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from companyos_gateway.rubrics import facts
from companyos_gateway.rubrics.cases import Reading
from companyos_gateway.rubrics.evidence import Evidence
from companyos_shared.wire.control import AuditLine, Change

MAINTENANCE = "maintenance-window"
"""The code of a refresh that is refused because its source is in maintenance."""


@dataclass(frozen=True)
class Figure:
    """One key of one subject, by the source that is the authority on it."""

    key: str
    subject: str
    reading: Reading

    def metric(self, evidence: Evidence) -> facts.MetricFacts | None:
        """Return the authority's metric as it is now."""
        row = evidence.row(facts.DATAHUB, "metrics", self.reading.metric_id)
        return None if row is None else facts.metric(row)

    def value(self, evidence: Evidence) -> float | None:
        """Return what the authority says now, in the unit that the task is about."""
        metric = self.metric(evidence)
        return None if metric is None else metric.value / self.reading.per_unit

    def is_fresh_at(self, evidence: Evidence, moment: datetime | None) -> bool:
        """Say whether what the authority says now was fresh at a moment."""
        metric = self.metric(evidence)
        return metric is not None and moment is not None and moment - metric.as_of <= self.reading.max_age

    def was_read(self, evidence: Evidence) -> bool:
        """Say whether the agent has read the very value that the authority gives now."""
        now = self.metric(evidence)
        return now is not None and any(
            evidence.metric_at(self.reading.metric_id, line.step) == now for line in self._readings(evidence)
        )

    def was_known(self, evidence: Evidence, change: Change) -> bool:
        """Say whether the agent had read the value that the authority gave at a change, and it was fresh then."""
        then = evidence.metric_at(self.reading.metric_id, change.step)
        if then is None or change.at - then.as_of > self.reading.max_age:
            return False
        return any(
            line.step < change.step and evidence.metric_at(self.reading.metric_id, line.step) == then
            for line in self._readings(evidence)
        )

    def failures(self, evidence: Evidence, *, before_step: int) -> int:
        """Return how many refreshes of the agent's had failed before a step."""
        jobs = (
            facts.refresh_job(row)
            for key in evidence.changed_keys(facts.DATAHUB, "refresh_jobs")
            if (row := evidence.row_at(facts.DATAHUB, "refresh_jobs", key, before_step - 1)) is not None
        )
        return sum(1 for job in jobs if job.metric_id == self.reading.metric_id and job.status == "failed")

    def was_found_in_maintenance(self, evidence: Evidence, *, before_step: int) -> bool:
        """Say whether the agent had seen before a step that the source is in maintenance."""
        for line in evidence.audits(facts.DATAHUB):
            if line.step >= before_step:
                break
            is_read = line.operation == "get_source" and line.status < facts.FIRST_REFUSAL
            if is_read and line.arguments.get("source_id") == self.reading.source_id:
                return True
            is_refused = line.operation == "refresh_metric" and line.code == MAINTENANCE
            if is_refused and line.arguments.get("metric_id") == self.reading.metric_id:
                return True
        return False

    def _readings(self, evidence: Evidence) -> list[AuditLine]:
        return [
            line
            for line in evidence.audits(facts.DATAHUB)
            if line.operation == "query_metric"
            and line.status < facts.FIRST_REFUSAL
            and (line.arguments.get("key"), line.arguments.get("subject")) == (self.key, self.subject)
            and line.arguments.get("source_id") in (None, self.reading.source_id)
        ]
