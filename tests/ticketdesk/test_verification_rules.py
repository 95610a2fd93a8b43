"""Rules of verification and approval links."""

from __future__ import annotations

import pytest

from companyos_shared.framework import ServiceError
from companyos_ticketdesk.assignment.model import find_candidate
from companyos_ticketdesk.assignment.rules import AssigneeNotEmployedError, UnknownAssigneeError
from companyos_ticketdesk.tickets.model import Priority, Ticket
from companyos_ticketdesk.verification.rules import (
    ApprovalRefBlankError,
    AssigneeMissingError,
    ChecklistIncompleteError,
    PriorityMissingError,
    Readiness,
    TicketUnverifiedError,
    TicketVerifiedError,
    check_may_be_verified,
    check_takes_approval,
)
from tests.ticketdesk.builders import AWAY, BEFORE, DEPARTED, EVA, NOW, a_company, a_ticket

READY = a_ticket(priority=Priority.LOW, assignee_id=EVA)


def verify(ticket: Ticket, *, open_items: int = 0) -> None:
    person_id = ticket.assignee_id
    assignee = None if person_id is None else find_candidate(a_company(), person_id, now=NOW, due_at=None)
    check_may_be_verified(ticket, Readiness(assignee=assignee, open_items=open_items))


def test_a_ready_ticket_may_be_verified() -> None:
    verify(READY)


@pytest.mark.parametrize(
    ("ticket", "problem"),
    [
        (a_ticket(priority=None, assignee_id=EVA), PriorityMissingError),
        (a_ticket(priority=Priority.LOW, assignee_id=None), AssigneeMissingError),
        (a_ticket(priority=Priority.LOW, assignee_id="p-nobody"), UnknownAssigneeError),
        (a_ticket(priority=Priority.LOW, assignee_id=DEPARTED), AssigneeNotEmployedError),
        (a_ticket(priority=Priority.LOW, assignee_id=EVA, verified_at=BEFORE, verified_by=EVA), TicketVerifiedError),
    ],
)
def test_a_ticket_that_is_not_ready_may_not_be_verified(ticket: Ticket, problem: type[ServiceError]) -> None:
    with pytest.raises(problem):
        verify(ticket)


def test_an_open_checklist_item_prevents_verification() -> None:
    with pytest.raises(ChecklistIncompleteError):
        verify(READY, open_items=1)


def test_an_assignee_on_vacation_does_not_prevent_verification() -> None:
    verify(a_ticket(priority=Priority.LOW, assignee_id=AWAY))


def test_an_approval_can_only_be_linked_to_a_verified_ticket() -> None:
    with pytest.raises(TicketUnverifiedError):
        check_takes_approval(READY, "APR-1")
    check_takes_approval(a_ticket(verified_at=BEFORE, verified_by=EVA), "APR-1")


def test_a_blank_reference_is_not_an_approval() -> None:
    with pytest.raises(ApprovalRefBlankError):
        check_takes_approval(a_ticket(verified_at=BEFORE, verified_by=EVA), "  ")
