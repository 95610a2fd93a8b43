"""Filters and queries of ticket lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select

from companyos_shared.choices import Choice
from companyos_ticketdesk.tables import tickets

NONE = "none"
"""Filter value for a field that is not set."""


class StatusFilter(Choice):
    """A status, or `none` for untriaged tickets."""

    NONE = NONE
    OPEN = "open"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    IN_REVIEW = "in_review"
    RESOLVED = "resolved"
    CLOSED = "closed"
    CANCELLED = "cancelled"


class PriorityFilter(Choice):
    """A priority, or `none` for tickets without one."""

    NONE = NONE
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketFilter:
    """Filters of a list; None matches all."""

    status: str | None = None
    priority: str | None = None
    type: str | None = None
    team_id: str | None = None
    assignee_id: str | None = None
    tag: str | None = None


def select_tickets(filters: TicketFilter) -> Select[Any]:
    """Return the select of the tickets that match all filters."""
    equal = {
        tickets.c.status: filters.status,
        tickets.c.priority: filters.priority,
        tickets.c.type: filters.type,
        tickets.c.team_id: filters.team_id,
        tickets.c.assignee_id: filters.assignee_id,
    }
    conditions: list[ColumnElement[bool]] = [
        column.is_(None) if value == NONE else column == value for column, value in equal.items() if value is not None
    ]
    if filters.tag is not None:
        tags = func.json_each(tickets.c.tags).table_valued("value")
        conditions.append(select(tags.c.value).where(tags.c.value == filters.tag).exists())
    return select(tickets).where(*conditions)
