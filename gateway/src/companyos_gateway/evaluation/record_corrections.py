"""Corrections: a record holds the known value of the authority, and the wrong source is reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.cases import MetricSpec, Refusal
from companyos_gateway.evaluation.change_policy import Allowance
from companyos_gateway.evaluation.evidence import Evidence, NetChange
from companyos_gateway.evaluation.facts import RequiredFacts
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.metric_checks import MetricChecks
from companyos_gateway.evaluation.mismatch import Mismatch, format_columns, is_touched, one_of
from companyos_shared.wire.control import Change

DATAHUB = row_views.DATAHUB


@dataclass(frozen=True)
class RecordCorrected:
    """A record has the required values, set after the agent had read the figure while it was fresh."""

    goal: RecordGoal
    metric: MetricSpec

    @property
    def row_path(self) -> str:
        """The record."""
        return f"{DATAHUB}.records[{self.goal.record_id}]"

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether the record is so, and no value was entered before it was known."""
        return self.goal.is_met(evidence, None, step=step) and self._knowledge.were_known(evidence)

    def mismatch(self, evidence: Evidence) -> Mismatch:
        """Return the first column of the record that is not as it must be, else the figure that was not known."""
        found = self.goal.mismatch(evidence, None) or self._knowledge.find_mismatch(evidence)
        assert found is not None
        return found

    def allowances(self) -> Iterable[Allowance]:
        """Return what of the record may change."""
        yield self.goal.allowance()

    def is_damaged(self, evidence: Evidence) -> bool:
        """Say that a record can be changed again."""
        return False

    @property
    def _knowledge(self) -> RequiredFacts:
        return RequiredFacts((MetricChecks(self.metric).fact(),), self._correction, "the record was corrected")

    def _correction(self, evidence: Evidence) -> Change | None:
        """Return the last change of the fields."""
        changes = evidence.row_changes(DATAHUB, "records", self.goal.record_id)
        return next((change for change in reversed(changes) if is_touched(change, ["fields"])), None)


@dataclass(frozen=True)
class MetricReported:
    """An issue says that a metric is wrong; one such issue is enough."""

    metric_id: str
    kind: str = "wrong"

    @property
    def row_path(self) -> str:
        """The metric."""
        return f"{DATAHUB}.metrics[{self.metric_id}]"

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether exactly one issue says so."""
        return self._count(evidence, step) == 1

    def mismatch(self, evidence: Evidence) -> Mismatch:
        """Return how many such issues there are."""
        return Mismatch(self.row_path, f"one issue of kind {self.kind}", f"{self._count(evidence, None)} such issues")

    def _count(self, evidence: Evidence, step: int | None) -> int:
        keys = evidence.changed_keys(DATAHUB, "data_issues")
        rows = [
            evidence.row(DATAHUB, "data_issues", key)
            if step is None
            else evidence.row_at(DATAHUB, "data_issues", key, step)
            for key in keys
        ]
        return sum(1 for row in rows if row is not None and self._reports_metric(row_views.parse_issue(row)))

    def allowances(self) -> Iterable[Allowance]:
        """Return the issue."""

        def covers(_evidence: Evidence, change: NetChange) -> bool:
            return (
                change.added and change.after is not None and self._reports_metric(row_views.parse_issue(change.after))
            )

        yield Allowance(DATAHUB, "data_issues", covers)

    def is_damaged(self, evidence: Evidence) -> bool:
        """Say that a report ends nothing."""
        return False

    def _reports_metric(self, issue: row_views.IssueView) -> bool:
        return (issue.subject, issue.kind) == (self.metric_id, self.kind)


@dataclass(frozen=True, kw_only=True)
class IssueReportGoal:
    """The issue that has to be reported: of that kind, on one of the subjects, for the refusal's reason."""

    kind: str
    subjects: frozenset[str]
    refusal: Refusal

    def is_met(self, evidence: Evidence) -> bool:
        """Say whether it is reported, and nothing else on the subjects with a reason is."""
        return self.mismatch(evidence) is None

    def mismatch(self, evidence: Evidence) -> Mismatch | None:
        """Return what is reported instead of the issue, or besides it with a reason; None if it alone is reported."""
        reports = list(_reporting_changes(evidence))
        own = [one for one in reports if (one.after or {})["subject"] in self.subjects]
        if sum((one.after or {})["reason_code"] is not None for one in own) == 1 and self.change(evidence) is not None:
            return None
        reason = f"{self.refusal.code} {one_of(self.refusal.references)}"
        expected = f"one issue of kind {self.kind} on {one_of(sorted(self.subjects))}, reason {reason}"
        found = [format_columns(one.after, ["kind", "subject", "reason_code", "reason_ref"]) for one in reports]
        step = reports[-1].step if reports else None
        return Mismatch(f"{DATAHUB}.data_issues", expected, "; ".join(found) or "no issue", step)

    def change(self, evidence: Evidence) -> Change | None:
        """Return the change that reported it."""
        return next((one for one in _reporting_changes(evidence) if self._is_expected(one)), None)

    def _is_expected(self, change: Change) -> bool:
        row = change.after or {}
        matches = self.refusal.matches(row["reason_code"], row["reason_ref"])
        return matches and row["kind"] == self.kind and row["subject"] in self.subjects


def _reporting_changes(evidence: Evidence) -> Iterator[Change]:
    """Yield the changes that made an issue since the start which is still there."""
    for key in evidence.changed_keys(row_views.DATAHUB, "data_issues"):
        first = evidence.row_changes(row_views.DATAHUB, "data_issues", key)[0]
        if first.before is None and evidence.row(row_views.DATAHUB, "data_issues", key) is not None:
            yield first
