"""Checklist items and their queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, bindparam, select

from companyos_shared.framework import FixedSelect
from companyos_ticketdesk.tables import checklist_items


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistItem:
    """A row of the table `checklist_items`."""

    id: str
    ticket_key: str
    position: int
    text: str
    done_at: datetime | None
    done_by: str | None


_OF_TICKET = FixedSelect(
    select(checklist_items)
    .where(checklist_items.c.ticket_key == bindparam("key"))
    .order_by(checklist_items.c.position, checklist_items.c.id)
)


def list_items(db: Connection, ticket_key: str) -> list[ChecklistItem]:
    """Return the checklist of a ticket in order."""
    return [ChecklistItem(**row) for row in _OF_TICKET.rows(db, key=ticket_key)]
