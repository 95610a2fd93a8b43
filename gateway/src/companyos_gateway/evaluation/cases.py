"""The facts of a task that its rubric judges by: the entry ticket, what is in its way, how it has to be refused."""

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
    """When a colleague has finished it; the start where that is not awaited."""


@dataclass(frozen=True, kw_only=True)
class MetricSpec:
    """A metric of the task: where it comes from, how old it may be and what it will be once refreshed."""

    metric_id: str
    key: str
    subject: str
    source_id: str
    other_metric_ids: tuple[str, ...]
    max_age: timedelta
    is_stale: bool
    value: float
    """What it is when it is fresh: after the refresh where it is stale, from the start where it is not."""
    failing_refreshes: int
    per_unit: int = 1
    """How many of the source's units make one of those that the task is about."""


@dataclass(frozen=True)
class Refusal:
    """Why the work must be refused: the typed reason, and the ids by which the fact behind it may be named."""

    code: str
    references: tuple[str, ...]

    def matches(self, code: str | None, reference: str | None) -> bool:
        """Say whether this is the reason that was given."""
        return code == self.code and reference in self.references


@dataclass(frozen=True, kw_only=True)
class TicketCase:
    """One task around an entry ticket."""

    variant: StrEnum
    """The structure: what has to be done, apart from figures and names."""
    agent_id: str
    ticket_key: str
    team_id: str
    due_on: date
    open_items: tuple[ChecklistItem, ...]
    first_status: str | None
    needs_priority: bool
    needs_assignee: bool
    assignee_ids: tuple[str, ...]
    """Who may work the ticket: employed, in the owning team, at work on the day it is due."""
    priority: str
    approver_ids: tuple[str, ...]
    """People who may decide throughout the episode; empty if nothing needs an approval."""
    blocker: Blocker | None
    refusal: Refusal | None
    end_status: str = "resolved"
    """The status in which the ticket ends where the work is done."""

    @property
    def must_refuse(self) -> bool:
        """Return whether the work must be refused."""
        return self.refusal is not None

    def due_at(self, company: Company) -> datetime:
        """Return when the day on which the ticket is due ends."""
        return datetime.combine(self.due_on, company.office_closes, tzinfo=UTC)
