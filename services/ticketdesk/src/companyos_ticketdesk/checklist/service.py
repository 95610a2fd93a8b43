"""Service functions of checklists."""

from __future__ import annotations

from sqlalchemy import select, update

from companyos_shared.framework import Call
from companyos_ticketdesk.checklist.model import ChecklistItem
from companyos_ticketdesk.checklist.rules import ChecklistItemNotFoundError, check_is_open
from companyos_ticketdesk.checklist.schemas import ChecklistItemView, CompletedItem
from companyos_ticketdesk.tables import checklist_items
from companyos_ticketdesk.tickets.service import load_live_ticket, touch_ticket


def complete_item(call: Call, key: str, item_id: str, *, if_match: int | None) -> CompletedItem:
    """Complete an open item of a live ticket as the caller."""
    ticket = load_live_ticket(call, key, if_match)
    check_is_open(_load_item(call, key, item_id))
    done = update(checklist_items).where(checklist_items.c.id == item_id)
    call.db.execute(done.values(done_at=call.now, done_by=call.person))
    version = touch_ticket(call, ticket).version
    item = ChecklistItemView.model_validate(_load_item(call, key, item_id))
    return CompletedItem(**dict(item), ticket_version=version)


def _load_item(call: Call, key: str, item_id: str) -> ChecklistItem:
    matches = select(checklist_items).where(checklist_items.c.id == item_id, checklist_items.c.ticket_key == key)
    row = call.db.execute(matches).one_or_none()
    if row is None:
        raise ChecklistItemNotFoundError(f'{key} has no checklist item "{item_id}"')
    return ChecklistItem(**row._mapping)
