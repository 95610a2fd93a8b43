"""Route that assigns a ticket."""

from __future__ import annotations

from companyos_shared.framework import CallDep, IfMatch, OperationRouter, error_responses
from companyos_ticketdesk.assignment import service
from companyos_ticketdesk.assignment.rules import (
    AssigneeNotEmployedError,
    AssigneeOutOfOfficeError,
    AssigneeOutsideTeamError,
    UnknownAssigneeError,
)
from companyos_ticketdesk.assignment.schemas import Assignment
from companyos_ticketdesk.tickets.rules import LIVE_TICKET_ERRORS
from companyos_ticketdesk.tickets.schemas import TicketKey, TicketView
from companyos_ticketdesk.tickets.service import view_ticket

router = OperationRouter(tags=["assignment"])


@router.put(
    "/tickets/{key}/assignee",
    operation_id="assign_ticket",
    responses=error_responses(
        *LIVE_TICKET_ERRORS,
        UnknownAssigneeError,
        AssigneeNotEmployedError,
        AssigneeOutsideTeamError,
        AssigneeOutOfOfficeError,
    ),
)
async def assign_ticket(key: TicketKey, body: Assignment, call: CallDep, if_match: IfMatch = None) -> TicketView:
    """Assign a triaged ticket to a current member of its team who is at work on its due date.

    If the ticket is overdue or has no due time, the person must be in the office today.
    """
    return view_ticket(service.assign_ticket(call, key, body.assignee_id, if_match=if_match), call.now)
