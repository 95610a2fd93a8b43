"""Routes that create and change tickets."""

from __future__ import annotations

from fastapi import status

from companyos_shared.framework import (
    CallDep,
    IdempotencyKey,
    IdempotencyKeyReusedError,
    IfMatch,
    OperationRouter,
    error_responses,
)
from companyos_ticketdesk.tickets import service
from companyos_ticketdesk.tickets.rules import (
    LIVE_TICKET_ERRORS,
    NothingToChangeError,
    TitleBlankError,
    UnknownTeamError,
)
from companyos_ticketdesk.tickets.schemas import NewTicket, TicketChanges, TicketKey, TicketView

router = OperationRouter(tags=["tickets"])


@router.post(
    "/tickets",
    operation_id="create_ticket",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(UnknownTeamError, TitleBlankError, IdempotencyKeyReusedError),
)
async def create_ticket(body: NewTicket, call: CallDep, idempotency_key: IdempotencyKey = None) -> TicketView:
    """Create an untriaged ticket; it cannot be deleted.

    The key is the team's prefix and the next number. The caller is the reporter.
    """
    return service.view_ticket(service.create_ticket(call, body), call.now)


@router.patch(
    "/tickets/{key}",
    operation_id="update_ticket",
    responses=error_responses(*LIVE_TICKET_ERRORS, TitleBlankError, NothingToChangeError),
)
async def update_ticket(key: TicketKey, changes: TicketChanges, call: CallDep, if_match: IfMatch = None) -> TicketView:
    """Change fields of a triaged ticket; omitted fields stay unchanged.

    Status, assignee, verification and approval have their own tools.
    """
    return service.view_ticket(service.update_ticket(call, key, changes, if_match=if_match), call.now)
