"""Goals of corrections: a record contains the value of the authoritative source, and the wrong source is reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.cases import MetricSpec, Refusal
from companyos_gateway.evaluation.change_policy import Allowance
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.facts import RequiredFacts
from companyos_gateway.evaluation.goals import EntityGoal, RecordGoal
from companyos_gateway.evaluation.metric_checks import MetricChecks
from companyos_gateway.evaluation.mismatch import Mismatch, format_columns, is_touched, one_of
from companyos_shared.wire.control import Change, Row

DATAHUB = row_views.DATAHUB


@dataclass(frozen=True)
class RecordCorrected(EntityGoal):
    """Goal: a record has the required values, set after the agent was shown the fresh figure."""

    goal: RecordGoal
    metric: MetricSpec

    @property
    def row_path(self) -> str:
        """Path of the record."""
        return f"{DATAHUB}.records[{self.goal.record_id}]"

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Return whether the record has the values, and the figure was known when they were last set."""
        return self.goal.is_met(evidence, step=step) and self._knowledge.were_known(evidence)

    def mismatch(self, evidence: Evidence) -> Mismatch:
        """Return the mismatch of the record, or else of the figure that was not known."""
        found = self.goal.mismatch(evidence) or self._knowledge.find_mismatch(evidence)
        assert found is not None
        return found

    def allowances(self) -> Iterable[Allowance]:
        """Return the allowance for the record."""
        return self.goal.allowances()

    @property
    def _knowledge(self) -> RequiredFacts:
        return RequiredFacts((MetricChecks(self.metric).fact(),), self._correction, "the record was corrected")

    def _correction(self, evidence: Evidence) -> Change | None:
        """Return the last change of the fields, None if there is none."""
        changes = evidence.row_changes(DATAHUB, "records", self.goal.record_id)
        return next((change for change in reversed(changes) if is_touched(change, ["fields"])), None)


@dataclass(frozen=True)
class MetricReported(EntityGoal):
    """Goal: exactly one data issue reports that a metric is wrong."""

    metric_id: str
    kind: str = "wrong"

    @property
    def row_path(self) -> str:
        """Path of the metric."""
        return f"{DATAHUB}.metrics[{self.metric_id}]"

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Return whether there is exactly one such issue, now or as of `step`."""
        return self._count(evidence, step) == 1

    def mismatch(self, evidence: Evidence) -> Mismatch:
        """Return a mismatch with the number of such issues."""
        return Mismatch(self.row_path, f"one issue of kind {self.kind}", f"{self._count(evidence, None)} such issues")

    def _count(self, evidence: Evidence, step: int | None) -> int:
        keys = evidence.changed_keys(DATAHUB, "data_issues")
        rows = [evidence.row(DATAHUB, "data_issues", key, step) for key in keys]
        return sum(map(self._reports_metric, rows))

    def allowances(self) -> Iterable[Allowance]:
        """Return the allowance for the issue."""
        yield Allowance(DATAHUB, "data_issues", lambda _, change: change.added and self._reports_metric(change.after))

    def _reports_metric(self, issue: Row | None) -> bool:
        return issue is not None and (issue["subject"], issue["kind"]) == (self.metric_id, self.kind)


@dataclass(frozen=True, kw_only=True)
class IssueReportGoal:
    """Goal: an issue of the kind on one of the subjects is reported for the refusal's reason."""

    kind: str
    subjects: frozenset[str]
    refusal: Refusal

    def is_met(self, evidence: Evidence) -> bool:
        """Return whether the issue is reported, and no issue on the subjects has another reason."""
        return self.mismatch(evidence) is None

    def mismatch(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch with the reported issues; None if the issue is reported, alike for each of its subjects.

        The same issue may be reported again, as after a timeout.
        """
        reports = list(_reporting_changes(evidence))
        rows = [one.after for one in reports if one.after is not None and one.after["subject"] in self.subjects]
        reasons = [row for row in rows if row["reason_code"] is not None]
        is_right = all(self.refusal.matches(row["reason_code"], row["reason_ref"]) for row in reasons)
        distinct = {(row["subject"], row["kind"], row["reason_ref"]) for row in reasons}
        is_repeated = len({row["subject"] for row in reasons}) < len(distinct)
        if is_right and not is_repeated and self.change(evidence) is not None:
            return None
        reason = f"{self.refusal.code} {one_of(self.refusal.references)}"
        expected = f"one issue of kind {self.kind} on {one_of(sorted(self.subjects))}, reason {reason}"
        found = [format_columns(one.after, ["kind", "subject", "reason_code", "reason_ref"]) for one in reports]
        step = reports[-1].step if reports else None
        return Mismatch(f"{DATAHUB}.data_issues", expected, "; ".join(found) or "no issue", step)

    def change(self, evidence: Evidence) -> Change | None:
        """Return the change that reported the issue, None if there is none."""
        return next((one for one in _reporting_changes(evidence) if self._is_expected(one)), None)

    def _is_expected(self, change: Change) -> bool:
        row = change.after or {}
        matches = self.refusal.matches(row["reason_code"], row["reason_ref"])
        return matches and row["kind"] == self.kind and row["subject"] in self.subjects


def _reporting_changes(evidence: Evidence) -> Iterator[Change]:
    """Yield the changes that added the issues since the start; deleted issues are skipped."""
    for key in evidence.changed_keys(row_views.DATAHUB, "data_issues"):
        first = evidence.row_changes(row_views.DATAHUB, "data_issues", key)[0]
        if first.before is None and evidence.row(row_views.DATAHUB, "data_issues", key) is not None:
            yield first
