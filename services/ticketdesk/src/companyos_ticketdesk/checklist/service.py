"""Service functions of checklists."""

from __future__ import annotations

from sqlalchemy import bindparam, select, update

from companyos_shared.framework import Call, FixedSelect
from companyos_ticketdesk.checklist.rules import ChecklistItemNotFoundError, check_is_open
from companyos_ticketdesk.checklist.schemas import ChecklistItemView, CompletedItem
from companyos_ticketdesk.tables import checklist_items
from companyos_ticketdesk.tickets.service import load_live_ticket, touch_ticket

_OF_TICKET = FixedSelect(
    select(checklist_items)
    .where(checklist_items.c.ticket_key == bindparam("key"))
    .order_by(checklist_items.c.position, checklist_items.c.id)
)


def list_items(call: Call, ticket_key: str) -> list[ChecklistItemView]:
    """Return the checklist of a ticket in order."""
    return [ChecklistItemView.model_validate(row) for row in _OF_TICKET.rows(call.db, key=ticket_key)]


def complete_item(call: Call, key: str, item_id: str, *, if_match: int | None) -> CompletedItem:
    """Complete an open item of a live ticket as the caller."""
    ticket = load_live_ticket(call, key, if_match)
    check_is_open(_load_item(call, key, item_id))
    done = update(checklist_items).where(checklist_items.c.id == item_id)
    call.db.execute(done.values(done_at=call.now, done_by=call.person))
    version = touch_ticket(call, ticket).version
    return CompletedItem(**dict(_load_item(call, key, item_id)), ticket_version=version)


def _load_item(call: Call, key: str, item_id: str) -> ChecklistItemView:
    matches = select(checklist_items).where(checklist_items.c.id == item_id, checklist_items.c.ticket_key == key)
    row = call.db.execute(matches).one_or_none()
    if row is None:
        raise ChecklistItemNotFoundError(f'{key} has no checklist item "{item_id}"')
    return ChecklistItemView.model_validate(row)
