"""The tools that create and change a ticket."""

from __future__ import annotations

from fastapi import APIRouter, status

from companyos_shared.chassis import CallDep, IdempotencyKey, IdempotencyKeyReused, IfMatch, StaleVersion, problems
from companyos_ticketdesk.tickets import service
from companyos_ticketdesk.tickets.rules import (
    NothingToChange,
    TeamUnknown,
    TicketClosed,
    TicketNotFound,
    TicketUntriaged,
    TitleBlank,
)
from companyos_ticketdesk.tickets.schemas import NewTicket, TicketChanges, TicketKey, TicketView

router = APIRouter(tags=["tickets"])


@router.post(
    "/tickets",
    operation_id="create_ticket",
    status_code=status.HTTP_201_CREATED,
    responses=problems(TeamUnknown, TitleBlank, IdempotencyKeyReused),
)
async def create_ticket(wanted: NewTicket, call: CallDep, idempotency_key: IdempotencyKey = None) -> TicketView:
    """Create a ticket, untriaged, in your name.

    The key is the prefix of the team and the next number. The caller becomes the reporter.
    """
    return service.view_ticket(service.create_ticket(call, wanted), call.now)


@router.patch(
    "/tickets/{key}",
    operation_id="update_ticket",
    responses=problems(TicketNotFound, TicketUntriaged, TicketClosed, TitleBlank, NothingToChange, StaleVersion),
)
async def update_ticket(key: TicketKey, changes: TicketChanges, call: CallDep, if_match: IfMatch = None) -> TicketView:
    """Change fields of a triaged ticket.

    Fields left out stay as they are. Status, assignee, verification and approval have tools of their own.
    """
    return service.view_ticket(service.update_ticket(call, key, changes, if_match=if_match), call.now)
