"""Goal on a selection of records, for tasks with many valid selections of which one is the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.change_policy import Allowance
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.goals import EntityGoal
from companyos_gateway.evaluation.mismatch import Mismatch, deciding_step, row_path

FindBreach = Callable[[frozenset[str]], str | None]
"""Function that returns the rule that a selection of record ids breaks, as text; None if the selection is valid."""


@dataclass(frozen=True)
class ValidSelection(EntityGoal):
    """Goal: the records in a state are a valid selection of `record_ids`, not necessarily the best one.

    The goals of the single records require the best one.
    """

    record_ids: tuple[str, ...]
    state: str
    find_breach: FindBreach

    @property
    def row_path(self) -> str:
        """Path of the first record."""
        return row_path(row_views.DATAHUB, "records", self.record_ids[0])

    def selected(self, evidence: Evidence, *, step: int | None = None) -> frozenset[str]:
        """Return the ids of the selected records, now or as of `step`."""
        rows = (evidence.row(row_views.DATAHUB, "records", one, step) for one in self.record_ids)
        return frozenset(row["id"] for row in rows if row is not None and row["state"] == self.state)

    def sum(self, evidence: Evidence, field: str | None, step: int) -> int | None:
        """Return the sum of a field over the records selected as of a step; without a field, their number.

        None if the selection was not valid.
        """
        selected = self.selected(evidence, step=step)
        if self.find_breach(selected) is not None:
            return None
        rows = [evidence.row(row_views.DATAHUB, "records", one, step) for one in selected]
        return sum(1 if field is None else int(row["fields"][field]) for row in rows if row is not None)

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Return whether the selection is valid, now or as of `step`."""
        return self.find_breach(self.selected(evidence, step=step)) is None

    def mismatch(self, evidence: Evidence) -> Mismatch:
        """Return a mismatch with the selection and the rule that it breaks."""
        selected = self.selected(evidence)
        changes = [
            change for one in self.record_ids for change in evidence.row_changes(row_views.DATAHUB, "records", one)
        ]
        found = f"{', '.join(sorted(selected)) or 'nothing'}: {self.find_breach(selected)}"
        step = deciding_step(sorted(changes, key=lambda change: change.step), "state")
        return Mismatch(self.row_path, "a valid selection", found, step)

    def allowances(self) -> Iterable[Allowance]:
        """Return no allowances: the goals of the single records allow the changes."""
        return ()
