"""Routes that verify tickets and link approvals."""

from __future__ import annotations

from companyos_shared.framework import CallDep, IfMatch, OperationRouter, error_responses
from companyos_ticketdesk.assignment.rules import AssigneeNotEmployedError, UnknownAssigneeError
from companyos_ticketdesk.tickets.rules import LIVE_TICKET_ERRORS
from companyos_ticketdesk.tickets.schemas import TicketKey, TicketView
from companyos_ticketdesk.tickets.service import view_ticket
from companyos_ticketdesk.verification import service
from companyos_ticketdesk.verification.rules import (
    ApprovalRefBlankError,
    AssigneeMissingError,
    ChecklistIncompleteError,
    PriorityMissingError,
    TicketUnverifiedError,
    TicketVerifiedError,
)
from companyos_ticketdesk.verification.schemas import ApprovalLink

router = OperationRouter(tags=["verification"])


@router.post(
    "/tickets/{key}/verification",
    operation_id="verify_ticket",
    responses=error_responses(
        *LIVE_TICKET_ERRORS,
        TicketVerifiedError,
        PriorityMissingError,
        AssigneeMissingError,
        UnknownAssigneeError,
        AssigneeNotEmployedError,
        ChecklistIncompleteError,
    ),
)
async def verify_ticket(key: TicketKey, call: CallDep, if_match: IfMatch = None) -> TicketView:
    """Verify a ticket that has a priority, an employed assignee and a complete checklist; this cannot be undone."""
    return view_ticket(service.verify_ticket(call, key, if_match=if_match), call.now)


@router.put(
    "/tickets/{key}/approval",
    operation_id="link_approval",
    responses=error_responses(*LIVE_TICKET_ERRORS, TicketUnverifiedError, ApprovalRefBlankError),
)
async def link_approval(key: TicketKey, body: ApprovalLink, call: CallDep, if_match: IfMatch = None) -> TicketView:
    """Link an approval request to a verified ticket; a later link replaces it.

    TicketDesk stores the reference and does not check it.
    """
    return view_ticket(service.link_approval(call, key, body.approval_ref, if_match=if_match), call.now)
