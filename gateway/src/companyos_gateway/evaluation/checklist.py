"""Checklist items, and the rows that the agent must have been shown before it ticks them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.mismatch import Mismatch, list_names, row_path
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import Change

SHOWING_COLUMNS: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        (row_views.DATAHUB, "records"): ("state",),
        (row_views.DATAHUB, "vendors"): ("status", "state"),
        (row_views.DATAHUB, "people"): ("title",),
        (row_views.DATAHUB, "sources"): ("authoritative_for",),
        (row_views.DATAHUB, "metrics"): ("value",),
        (row_views.DATAHUB, "policies"): ("body",),
        (row_views.TICKETDESK, "tickets"): ("status",),
        (row_views.APPROVALFLOW, "approval_types"): ("description",),
        (row_views.APPROVALFLOW, "requests"): ("status",),
    }
)
"""Columns by service and table. A response or page that has one of them shows the row; others only mention it."""


@dataclass(frozen=True)
class BackingRow:
    """A row that backs an item, by its id in responses; of a policy, the `version`."""

    service: str
    table: str
    key: str
    version: int | None = None

    @property
    def row_path(self) -> str:
        """Path of the row."""
        return row_path(self.service, self.table, self.key)

    def was_shown(self, evidence: Evidence, before: int) -> bool:
        """Return whether the agent was shown the row before a step, by any tool or page."""
        values = {} if self.version is None else {"version": self.version}
        columns = SHOWING_COLUMNS[self.service, self.table]
        return any(evidence.knew(self.key, column, before=before, **values) for column in columns)


@dataclass(frozen=True)
class ChecklistItem:
    """An item that is open at the start. A row of each group in `backing` must be shown before the agent ticks it."""

    id: str
    backing: tuple[tuple[BackingRow, ...], ...]

    @property
    def row_path(self) -> str:
        """Path of the item."""
        return row_path(row_views.TICKETDESK, "checklist_items", self.id)

    def find_unknown(self, evidence: Evidence, before: int) -> list[BackingRow]:
        """Return the first row of each group of which the agent was shown no row before a step."""
        return [rows[0] for rows in self.backing if not any(row.was_shown(evidence, before) for row in rows)]

    def find_unread(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the agent ticked the item before it was shown the backing rows."""
        ticked = self._last_tick(evidence)
        unread = [] if ticked is None else self.find_unknown(evidence, ticked.step)
        if ticked is None or not unread:
            return None
        expected = f"ticked after {list_names([row.row_path for row in unread])} had been shown to the agent"
        return Mismatch(self.row_path, expected, "ticked before", ticked.step, unread[0].key)

    def _last_tick(self, evidence: Evidence) -> Change | None:
        """Return the agent's last change that completed the item."""
        found = None
        for change in evidence.row_changes(row_views.TICKETDESK, "checklist_items", self.id):
            if change.actor is Actor.AGENT and change.after is not None and row_views.is_done(change.after):
                found = change
        return found
