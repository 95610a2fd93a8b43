"""Reports that a refusal asks for: a data issue on the right thing, for the reason, before the work is declined."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from companyos_gateway.rubrics import facts
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.rubrics.evidence import Evidence
from companyos_shared.wire.control import Change


@dataclass(frozen=True, kw_only=True)
class ReportGoal:
    """The issue that has to be reported: of that kind, on one of the subjects, for the refusal's reason."""

    kind: str
    subjects: frozenset[str]
    refusal: Refusal

    def is_met(self, evidence: Evidence) -> bool:
        """Say whether it is reported, and nothing else is."""
        made = list(_reported(evidence))
        return len(made) == 1 and self.change(evidence) is not None

    def change(self, evidence: Evidence) -> Change | None:
        """Return the change that reported it."""
        return next((one for one in _reported(evidence) if self._is_wanted(one)), None)

    def _is_wanted(self, change: Change) -> bool:
        row = change.after or {}
        is_given = self.refusal.is_given(row["reason_code"], row["reason_ref"])
        return is_given and row["kind"] == self.kind and row["subject"] in self.subjects


def _reported(evidence: Evidence) -> Iterator[Change]:
    """Yield the changes that made an issue since the start which is still there."""
    for key in evidence.changed_keys(facts.DATAHUB, "data_issues"):
        first = evidence.row_changes(facts.DATAHUB, "data_issues", key)[0]
        if first.before is None and evidence.row(facts.DATAHUB, "data_issues", key) is not None:
            yield first
