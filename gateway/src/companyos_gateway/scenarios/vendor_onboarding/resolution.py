"""The step at which the ticket was resolved: what stood at that moment, and whether it was in time."""

from __future__ import annotations

from companyos_gateway.rubrics import Evidence, facts
from companyos_gateway.scenarios.vendor_onboarding.case import Case
from companyos_gateway.world.calendar import closing_of
from companyos_shared.wire.control import Change


def last_resolution(evidence: Evidence, ticket_key: str) -> Change | None:
    """Return the change that resolved the ticket; the last one, where it was reopened in between."""
    found = None
    for change in evidence.row_changes(facts.TICKETDESK, "tickets", ticket_key):
        before = (change.before or {}).get("status")
        if change.after is not None and change.after["status"] == "resolved" != before:
            found = change
    return found


def is_in_order(evidence: Evidence, case: Case, request_id: str) -> bool:
    """Say whether the ticket was complete, verified and linked to a request that was approved when it was resolved."""
    change = last_resolution(evidence, case.ticket_key)
    if change is None or change.after is None:
        return False
    ticket, step = facts.ticket(change.after), change.step
    request = evidence.row_at(facts.APPROVALFLOW, "requests", request_id, step)
    items = (evidence.row_at(facts.TICKETDESK, "checklist_items", item, step) for item in case.open_items)
    return (
        ticket.verified_at is not None
        and ticket.approval_ref == request_id
        and request is not None
        and facts.request(request).status == "approved"
        and all(item is not None and facts.is_done(item) for item in items)
    )


def is_in_time(evidence: Evidence, case: Case) -> bool:
    """Say whether the ticket was resolved by the end of the day on which it is due."""
    change = last_resolution(evidence, case.ticket_key)
    return change is not None and change.at <= closing_of(case.due_on)
