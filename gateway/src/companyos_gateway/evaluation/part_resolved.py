"""Goal on a part of the work that has its own ticket: it is resolved once the whole part is settled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.change_policy import Allowance
from companyos_gateway.evaluation.entity_goals import EntityGoal
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.mismatch import Mismatch, is_touched, list_names
from companyos_gateway.evaluation.ticket_goals import TicketGoal
from companyos_shared.wire.control import Change


@dataclass(frozen=True)
class PartResolved(EntityGoal):
    """Goal: the ticket of a part is resolved, and was resolved after its part was settled."""

    key: str
    part: tuple[EntityGoal, ...]

    @property
    def row_path(self) -> str:
        """Path of the ticket."""
        return f"{row_views.TICKETDESK}.tickets[{self.key}]"

    @property
    def goal(self) -> TicketGoal:
        """The required final state of the ticket."""
        return TicketGoal(key=self.key, status="resolved")

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Return whether the ticket is resolved, and the part was settled when it was last resolved."""
        return self.goal.is_met(evidence, step=step) and not self._unsettled(evidence)

    def mismatch(self, evidence: Evidence) -> Mismatch:
        """Return the mismatch of the ticket, or else the entities that were not settled when it was resolved."""
        if not self.goal.is_met(evidence):
            return self.goal.mismatch(evidence)
        resolved = self._resolution(evidence)
        expected = f"resolved after {list_names([one.row_path for one in self.part])}"
        found = f"resolved before {list_names(self._unsettled(evidence))}"
        return Mismatch(self.row_path, expected, found, None if resolved is None else resolved.step)

    def allowances(self) -> Iterable[Allowance]:
        """Return the allowances for the ticket."""
        return self.goal.allowances()

    def is_damaged(self, evidence: Evidence) -> bool:
        """Return whether the ticket was closed or cancelled."""
        return self.goal.is_damaged(evidence)

    def _unsettled(self, evidence: Evidence) -> list[str]:
        """Return the entities that were not settled when the ticket was last resolved."""
        resolved = self._resolution(evidence)
        return [one.row_path for one in self.part if resolved is None or not one.is_met(evidence, step=resolved.step)]

    def _resolution(self, evidence: Evidence) -> Change | None:
        """Return the last change that resolved the ticket, None if there is none."""
        changes = evidence.row_changes(row_views.TICKETDESK, "tickets", self.key)
        resolving = (one for one in reversed(changes) if (one.after or {}).get("status") == "resolved")
        return next((one for one in resolving if is_touched(one, ["status"])), None)
