"""The facts by which a rubric judges a task: the entry ticket, its blocker, metrics and the required refusal."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from companyos_gateway.evaluation.checklist import ChecklistItem
from companyos_shared.wire.company import Company


class BlockerResolution(StrEnum):
    """Resolution of a blocker: finish it, unlink it, or wait for colleagues."""

    RESOLVE = "resolve"
    UNLINK = "unlink"
    WAIT = "wait"


@dataclass(frozen=True, kw_only=True)
class Blocker:
    """A blocking ticket and its correct resolution."""

    key: str
    link_id: str
    resolution: BlockerResolution
    free_at: datetime
    """Time at which a colleague finishes the blocker; the start if no colleague does."""


@dataclass(frozen=True, kw_only=True)
class MetricSpec:
    """A metric of the task: its source, its maximum age and its value after a refresh."""

    metric_id: str
    key: str
    subject: str
    source_id: str
    other_metric_ids: tuple[str, ...]
    max_age: timedelta
    is_stale: bool
    value: float
    """The fresh value: after the refresh if the metric is stale, else from the start."""
    failing_refreshes: int
    per_unit: int = 1
    """Number of the source's units per unit of the task."""


@dataclass(frozen=True)
class Refusal:
    """Required reason of a refusal: the typed code, and the accepted ids of the fact behind it."""

    code: str
    references: tuple[str, ...]

    def matches(self, code: str | None, reference: str | None) -> bool:
        """Return whether the code and the reference match this reason."""
        return code == self.code and reference in self.references


@dataclass(frozen=True, kw_only=True)
class TicketCase:
    """One task around an entry ticket."""

    variant: StrEnum
    """The structure of the task: the required work, apart from figures and names."""
    agent_id: str
    ticket_key: str
    team_id: str
    due_on: date
    open_items: tuple[ChecklistItem, ...]
    first_status: str | None
    needs_priority: bool
    needs_assignee: bool
    assignee_ids: tuple[str, ...]
    """People who may work on the ticket: employed, in the owning team, and at work on the due date."""
    priority: str
    approver_ids: tuple[str, ...]
    """People who may decide throughout the episode; empty if nothing needs an approval."""
    blocker: Blocker | None
    refusal: Refusal | None
    end_status: str = "resolved"
    """Final status of the ticket if the work is done."""

    @property
    def must_refuse(self) -> bool:
        """Return whether the work must be refused."""
        return self.refusal is not None

    def due_at(self, company: Company) -> datetime:
        """Return the end of office hours on the due date."""
        return datetime.combine(self.due_on, company.office_closes, tzinfo=UTC)
