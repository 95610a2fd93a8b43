"""Service functions of verification."""

from __future__ import annotations

from companyos_shared.framework import Call
from companyos_ticketdesk.checklist.rules import count_open
from companyos_ticketdesk.checklist.service import list_items
from companyos_ticketdesk.deferred_events import wake_events
from companyos_ticketdesk.tickets.model import Ticket
from companyos_ticketdesk.tickets.service import change_ticket, load_live_ticket
from companyos_ticketdesk.verification.rules import check_may_be_verified, check_takes_approval


def verify_ticket(call: Call, key: str, *, if_match: int | None) -> Ticket:
    """Verify a live ticket as the caller."""
    ticket = load_live_ticket(call, key, if_match)
    open_items = count_open(list_items(call, key))
    check_may_be_verified(ticket, call.company, now=call.now, open_items=open_items)
    wake_events(call, key)
    return change_ticket(call, ticket, verified_at=call.now, verified_by=call.person)


def link_approval(call: Call, key: str, approval_ref: str, *, if_match: int | None) -> Ticket:
    """Store the reference of an approval on a verified ticket; a later one replaces it."""
    ticket = load_live_ticket(call, key, if_match)
    check_takes_approval(ticket, approval_ref)
    return change_ticket(call, ticket, approval_ref=approval_ref.strip())
