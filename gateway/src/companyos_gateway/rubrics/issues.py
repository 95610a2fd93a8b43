"""Data issues that a task asks for: one, on the right thing, with the reason and the fact behind it."""

from __future__ import annotations

from dataclasses import dataclass

from companyos_gateway.rubrics import facts
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.rubrics.evidence import Evidence
from companyos_shared.wire.control import Change


@dataclass(frozen=True)
class IssueGoal:
    """The issue that says why something cannot be had; it may be on any of the subjects."""

    subjects: frozenset[str]
    refusal: Refusal

    def is_recorded(self, evidence: Evidence) -> bool:
        """Say whether the issue is there, and none of the agent's beside it."""
        return len(new_issues(evidence)) == 1 and self.change(evidence) is not None

    def change(self, evidence: Evidence) -> Change | None:
        """Return the change that recorded it."""
        for change in new_issues(evidence):
            issue = facts.issue(change.after or {})
            if issue.subject in self.subjects and self.refusal.is_given(issue.reason_code, issue.reason_ref):
                return change
        return None


def new_issues(evidence: Evidence) -> list[Change]:
    """Return the changes that recorded an issue since the start."""
    keys = evidence.changed_keys(facts.DATAHUB, "data_issues")
    changes = [evidence.row_changes(facts.DATAHUB, "data_issues", key)[0] for key in keys]
    return [change for change in changes if change.before is None and change.after is not None]
