"""Service functions of assignment."""

from __future__ import annotations

from companyos_shared.framework import Call
from companyos_ticketdesk.assignment.rules import check_may_be_assigned
from companyos_ticketdesk.tickets.model import Ticket
from companyos_ticketdesk.tickets.service import change_ticket, load_live_ticket


def assign_ticket(call: Call, key: str, assignee_id: str, *, if_match: int | None) -> Ticket:
    """Assign a live ticket to an eligible person."""
    ticket = load_live_ticket(call, key, if_match)
    check_may_be_assigned(call.company, assignee_id, team_id=ticket.team_id, now=call.now, due_at=ticket.due_at)
    return change_ticket(call, ticket, assignee_id=assignee_id)
