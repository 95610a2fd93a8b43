"""Route that completes checklist items."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

from companyos_shared.framework import CallDep, IfMatch, OperationRouter, error_responses
from companyos_ticketdesk.checklist import service
from companyos_ticketdesk.checklist.rules import ChecklistItemDoneError, ChecklistItemNotFoundError
from companyos_ticketdesk.checklist.schemas import CompletedItem
from companyos_ticketdesk.tickets.rules import LIVE_TICKET_ERRORS
from companyos_ticketdesk.tickets.schemas import TicketKey

router = OperationRouter(tags=["checklist"])


@router.post(
    "/tickets/{key}/checklist/{item_id}/completion",
    operation_id="complete_checklist_item",
    responses=error_responses(*LIVE_TICKET_ERRORS, ChecklistItemNotFoundError, ChecklistItemDoneError),
)
async def complete_checklist_item(
    key: TicketKey,
    item_id: Annotated[str, Path(max_length=64, examples=["item-7"], description="ID of the checklist item.")],
    call: CallDep,
    if_match: IfMatch = None,
) -> CompletedItem:
    """Mark a checklist item of a ticket as done, once you have done or looked up what it says; it cannot be reopened.

    The item records who completed it and when. The ticket's version increases.
    """
    return service.complete_item(call, key, item_id, if_match=if_match)
