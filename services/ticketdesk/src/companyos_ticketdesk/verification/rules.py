"""When a ticket may be verified."""

from __future__ import annotations

from dataclasses import dataclass

from companyos_shared.chassis import Problem
from companyos_ticketdesk.assignment.model import Candidate
from companyos_ticketdesk.assignment.rules import check_is_employed
from companyos_ticketdesk.tickets.model import Ticket


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """What beside the ticket's own fields decides whether it may be verified."""

    assignee: Candidate | None
    open_items: int


class TicketVerified(Problem):
    status, code, title = 409, "ticket-verified", "The ticket is verified already"


class PriorityMissing(Problem):
    status, code, title = 409, "priority-missing", "The ticket has no priority"


class AssigneeMissing(Problem):
    status, code, title = 409, "assignee-missing", "The ticket has no assignee"


class ChecklistIncomplete(Problem):
    status, code, title = 409, "checklist-incomplete", "The checklist is not complete"


class TicketUnverified(Problem):
    status, code, title = 409, "ticket-unverified", "The ticket has not been verified"


class ApprovalRefBlank(Problem):
    status, code, title = 422, "approval-ref-blank", "The approval reference is blank"


def check_may_be_verified(ticket: Ticket, readiness: Readiness) -> None:
    """Raise a Problem (409, or 422 for an unknown assignee) unless the ticket is ready to be verified."""
    if ticket.verified_at is not None:
        raise TicketVerified(f"{ticket.key} was verified by {ticket.verified_by}.")
    if ticket.priority is None:
        raise PriorityMissing(f"{ticket.key} has no priority.")
    if ticket.assignee_id is None:
        raise AssigneeMissing(f"{ticket.key} has no assignee.")
    check_is_employed(readiness.assignee, ticket.assignee_id)
    if readiness.open_items:
        raise ChecklistIncomplete(f"Checklist items that are not done: {readiness.open_items}.")


def check_takes_approval(ticket: Ticket, approval_ref: str) -> None:
    """Raise TicketUnverified (409) or ApprovalRefBlank (422) unless the approval may be linked."""
    if ticket.verified_at is None:
        raise TicketUnverified(f"{ticket.key} has not been verified.")
    if not approval_ref.strip():
        raise ApprovalRefBlank
