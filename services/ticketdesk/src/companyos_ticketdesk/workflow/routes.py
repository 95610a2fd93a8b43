"""Routes that change a ticket's status and list its history."""

from __future__ import annotations

from companyos_shared.framework import (
    CallDep,
    IfMatch,
    InvalidCursorError,
    OperationRouter,
    Page,
    PageQuery,
    error_responses,
)
from companyos_ticketdesk.tickets.rules import LIVE_TICKET_ERRORS, TicketNotFoundError
from companyos_ticketdesk.tickets.schemas import TicketKey, TicketView
from companyos_ticketdesk.tickets.service import view_ticket
from companyos_ticketdesk.workflow import service
from companyos_ticketdesk.workflow.rules import (
    ReasonMissingError,
    ReasonNotAcceptedError,
    TicketBlockedError,
    TransitionNotAllowedError,
)
from companyos_ticketdesk.workflow.schemas import HistoryEntry, Move

router = OperationRouter(tags=["workflow"])


@router.post(
    "/tickets/{key}/transitions",
    operation_id="transition_ticket",
    responses=error_responses(
        *LIVE_TICKET_ERRORS, TransitionNotAllowedError, TicketBlockedError, ReasonMissingError, ReasonNotAcceptedError
    ),
)
async def transition_ticket(key: TicketKey, move: Move, call: CallDep, if_match: IfMatch = None) -> TicketView:
    """Change a ticket's status; a new one must be opened first, `closed` and `cancelled` are final and need a reason.

    A reason is a code and the id of the object behind it. `blocked` accepts a reason, other statuses do not. While
    another ticket that is not resolved, closed or cancelled blocks it, a ticket can be cancelled, but it cannot be
    resolved, closed or leave `blocked`.
    """
    return view_ticket(service.transition_ticket(call, key, move, if_match=if_match), call.now)


@router.get(
    "/tickets/{key}/history",
    operation_id="get_ticket_history",
    responses=error_responses(TicketNotFoundError, InvalidCursorError),
)
async def get_ticket_history(key: TicketKey, call: CallDep, page: PageQuery) -> Page[HistoryEntry]:
    """List the transitions of a ticket and the links removed from it, oldest first."""
    return service.list_history(call, key, page)
