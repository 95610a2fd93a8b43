"""Corrections: a record holds what the authority says once that is known, and whoever is wrong is reported."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from companyos_gateway.rubrics import facts
from companyos_gateway.rubrics.boundaries import Allowance
from companyos_gateway.rubrics.evidence import Evidence, NetChange
from companyos_gateway.rubrics.figures import Figure
from companyos_gateway.rubrics.records import RecordGoal

HUB = facts.DATAHUB


@dataclass(frozen=True)
class RecordCorrected:
    """A record is as it must be, and was brought there by somebody who had read the figure while it was fresh."""

    goal: RecordGoal
    figure: Figure

    @property
    def place(self) -> str:
        """The record."""
        return f"{HUB}.records[{self.goal.record_id}]"

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether the record is so, and no value was entered before it was known."""
        if not self.goal.is_met(evidence, None, step=step):
            return False
        written = [
            change
            for change in evidence.row_changes(HUB, "records", self.goal.record_id)
            if (change.before or {}).get("fields") != (change.after or {}).get("fields")
        ]
        return bool(written) and self.figure.was_known(evidence, written[-1])

    def allowances(self) -> Iterable[Allowance]:
        """Return what of the record may change."""
        yield self.goal.allowance()

    def is_spoilt(self, evidence: Evidence) -> bool:
        """Say that a record can be changed again."""
        return False


@dataclass(frozen=True)
class MetricReported:
    """An issue says that a metric is wrong; one such issue is enough."""

    metric_id: str
    kind: str = "wrong"

    @property
    def place(self) -> str:
        """The metric."""
        return f"{HUB}.metrics[{self.metric_id}]"

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether exactly one issue says so."""
        keys = evidence.changed_keys(HUB, "data_issues")
        rows = [
            evidence.row(HUB, "data_issues", key) if step is None else evidence.row_at(HUB, "data_issues", key, step)
            for key in keys
        ]
        return sum(1 for row in rows if row is not None and self._says_so(facts.issue(row))) == 1

    def allowances(self) -> Iterable[Allowance]:
        """Return the issue."""

        def covers(_evidence: Evidence, change: NetChange) -> bool:
            return change.added and change.after is not None and self._says_so(facts.issue(change.after))

        yield Allowance(HUB, "data_issues", covers)

    def is_spoilt(self, evidence: Evidence) -> bool:
        """Say that a report ends nothing."""
        return False

    def _says_so(self, issue: facts.IssueFacts) -> bool:
        return (issue.subject, issue.kind) == (self.metric_id, self.kind)
