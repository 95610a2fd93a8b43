"""Rules of verification."""

from __future__ import annotations

from datetime import datetime

from companyos_shared.framework import ServiceError
from companyos_shared.wire.company import Company
from companyos_ticketdesk.assignment.rules import UnknownAssigneeError, check_is_employed
from companyos_ticketdesk.tickets.model import Ticket


class TicketVerifiedError(ServiceError):
    status, code, title = 409, "ticket-verified", "Ticket already verified"


class PriorityMissingError(ServiceError):
    status, code, title = 409, "priority-missing", "Priority missing"


class AssigneeMissingError(ServiceError):
    status, code, title = 409, "assignee-missing", "Assignee missing"


class ChecklistIncompleteError(ServiceError):
    status, code, title = 409, "checklist-incomplete", "Checklist incomplete"


class TicketUnverifiedError(ServiceError):
    status, code, title = 409, "ticket-unverified", "Ticket not verified"


class ApprovalRefBlankError(ServiceError):
    status, code, title = 422, "approval-ref-blank", "Approval reference is blank"


def check_may_be_verified(ticket: Ticket, company: Company, *, now: datetime, open_items: int) -> None:
    """Raise an error unless the ticket, which has that many open checklist items, can be verified.

    Raises TicketVerifiedError, PriorityMissingError, AssigneeMissingError, AssigneeNotEmployedError or
    ChecklistIncompleteError (409), or UnknownAssigneeError (422).
    """
    if ticket.verified_at is not None:
        raise TicketVerifiedError(f"{ticket.key} was verified by {ticket.verified_by}")
    if ticket.priority is None:
        raise PriorityMissingError(f"{ticket.key} has no priority")
    if ticket.assignee_id is None:
        raise AssigneeMissingError(f"{ticket.key} has no assignee")
    if company.person(ticket.assignee_id) is None:
        raise UnknownAssigneeError(
            f'{ticket.key} is assigned to "{ticket.assignee_id}", but no person in the directory has this id'
        )
    check_is_employed(company, ticket.assignee_id, now=now)
    if open_items:
        raise ChecklistIncompleteError(f"{ticket.key} has open checklist items: {open_items}")


def check_takes_approval(ticket: Ticket, approval_ref: str) -> None:
    """Raise TicketUnverifiedError (409) or ApprovalRefBlankError (422) unless the approval can be linked."""
    if ticket.verified_at is None:
        raise TicketUnverifiedError(f"{ticket.key} is not verified")
    if not approval_ref.strip():
        raise ApprovalRefBlankError("approval_ref must not be blank")
