"""What the approval of a task allows: the shape of a goal, and vendors that are brought to a wanted state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

from companyos_gateway.rubrics import facts
from companyos_gateway.rubrics.boundaries import Allowance, changed_keys
from companyos_gateway.rubrics.evidence import Evidence, is_same_given


class Goal(Protocol):
    """Something that must be so at the end, and only once a request was approved."""

    def is_met(self, evidence: Evidence, request_id: str | None, *, step: int | None = None) -> bool:
        """Say whether it is so, now or once a step had been taken."""
        ...

    def is_premature(self, evidence: Evidence, request_id: str) -> bool:
        """Say whether it was brought about before the request was approved."""
        ...

    def allowance(self) -> Allowance:
        """Return what may change on the way."""
        ...


@dataclass(frozen=True, kw_only=True)
class VendorGoal:
    """How a vendor must be at the end, by columns; what is not named stays what it was.

    Nothing of it is entered before the day of `not_before`, where there is one.
    """

    vendor_id: str
    columns: Mapping[str, Any]
    not_before: date | None = None

    def is_met(self, evidence: Evidence, request_id: str | None, *, step: int | None = None) -> bool:
        """Say whether the vendor is so, now or once a step had been taken."""
        place = (facts.DATAHUB, "vendors", self.vendor_id)
        row = evidence.row(*place) if step is None else evidence.row_at(*place, step)
        return row is not None and all(is_same_given(row[name], value) for name, value in self.columns.items())

    def is_premature(self, evidence: Evidence, request_id: str) -> bool:
        """Say whether one of the columns was changed before the request was approved, or before its day."""
        for change in evidence.row_changes(facts.DATAHUB, "vendors", self.vendor_id):
            before, after = change.before or {}, change.after or {}
            if all(before.get(name) == after.get(name) for name in self.columns):
                continue
            row = evidence.row_at(facts.APPROVALFLOW, "requests", request_id, change.step)
            is_early = self.not_before is not None and change.at.date() < self.not_before
            if is_early or row is None or facts.request(row).status != "approved":
                return True
        return False

    def allowance(self) -> Allowance:
        """Return the columns that may change."""
        return Allowance(facts.DATAHUB, "vendors", changed_keys([self.vendor_id]), frozenset(self.columns))
