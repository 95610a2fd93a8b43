"""Routes that verify tickets and link approvals."""

from __future__ import annotations

from fastapi import APIRouter

from companyos_shared.chassis import CallDep, IfMatch, StaleVersion, problems
from companyos_ticketdesk.assignment.rules import AssigneeNotEmployed, AssigneeUnknown
from companyos_ticketdesk.tickets.rules import TicketClosed, TicketNotFound, TicketUntriaged
from companyos_ticketdesk.tickets.schemas import TicketKey, TicketView
from companyos_ticketdesk.tickets.service import view_ticket
from companyos_ticketdesk.verification import service
from companyos_ticketdesk.verification.rules import (
    ApprovalRefBlank,
    AssigneeMissing,
    ChecklistIncomplete,
    PriorityMissing,
    TicketUnverified,
    TicketVerified,
)
from companyos_ticketdesk.verification.schemas import ApprovalLink

router = APIRouter(tags=["verification"])


@router.post(
    "/tickets/{key}/verification",
    operation_id="verify_ticket",
    responses=problems(
        TicketNotFound,
        TicketUntriaged,
        TicketClosed,
        TicketVerified,
        PriorityMissing,
        AssigneeMissing,
        AssigneeUnknown,
        AssigneeNotEmployed,
        ChecklistIncomplete,
        StaleVersion,
    ),
)
async def verify_ticket(key: TicketKey, call: CallDep, if_match: IfMatch = None) -> TicketView:
    """Mark a ticket as verified.

    It requires a priority, a currently employed assignee and a complete checklist.
    """
    return view_ticket(service.verify_ticket(call, key, if_match=if_match), call.now)


@router.put(
    "/tickets/{key}/approval",
    operation_id="link_approval",
    responses=problems(TicketNotFound, TicketUntriaged, TicketClosed, TicketUnverified, ApprovalRefBlank, StaleVersion),
)
async def link_approval(key: TicketKey, body: ApprovalLink, call: CallDep, if_match: IfMatch = None) -> TicketView:
    """Link an approval to a verified ticket.

    The reference is stored unchanged; a later one replaces it.
    """
    return view_ticket(service.link_approval(call, key, body.approval_ref, if_match=if_match), call.now)
