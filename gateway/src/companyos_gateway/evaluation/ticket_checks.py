"""The entry ticket: what stands on it, and what stood on it at the step at which it was brought to its end."""

from __future__ import annotations

from dataclasses import dataclass

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.cases import BlockerResolution, TicketCase
from companyos_gateway.evaluation.evidence import Evidence
from companyos_shared.wire.company import Company
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import Change


@dataclass(frozen=True)
class TicketChecks:
    """Checks of the entry ticket of a case."""

    case: TicketCase
    company: Company

    def ticket(self, evidence: Evidence) -> row_views.TicketView:
        """Return the ticket as it is now."""
        return evidence.ticket(self.case.ticket_key) or row_views.MISSING_TICKET

    def is_completed(self, evidence: Evidence) -> bool:
        """Say whether the ticket stands where it ends when the work is done."""
        return self.ticket(evidence).status == self.case.end_status

    def is_closed(self, evidence: Evidence) -> bool:
        """Say whether the agent has brought the ticket to its end, or resolved or closed it, at any time.

        A cancelled ticket is not closed: a refusal is complete with `finish`, which gives its reason.
        """
        closing = {self.case.end_status, "resolved", "closed"}
        return any(
            change.actor is Actor.AGENT
            and change.after is not None
            and change.after["status"] in closing
            and (change.before or {}).get("status") != change.after["status"]
            for change in evidence.row_changes(row_views.TICKETDESK, "tickets", self.case.ticket_key)
        )

    def completion_change(self, evidence: Evidence) -> Change | None:
        """Return the change that brought the ticket there."""
        return self.last_transition(evidence, self.case.end_status)

    def has_priority(self, evidence: Evidence) -> bool:
        """Say whether the ticket has the priority that the policy in force asks for."""
        return self.ticket(evidence).priority == self.case.priority

    def is_marked_verified(self, evidence: Evidence) -> bool:
        """Say whether anybody has verified the ticket."""
        return self.ticket(evidence).verified_at is not None

    def is_verified(self, evidence: Evidence) -> bool:
        """Say whether the agent has verified the ticket."""
        ticket = self.ticket(evidence)
        return ticket.verified_at is not None and ticket.verified_by == self.case.agent_id

    def has_complete_checklist(self, evidence: Evidence) -> bool:
        """Say whether every step that was open at the start is done."""
        rows = (evidence.row(row_views.TICKETDESK, "checklist_items", item) for item in self.case.open_items)
        return all(row is not None and row_views.is_done(row) for row in rows)

    def has_valid_assignee(self, evidence: Evidence) -> bool:
        """Say whether the assignee is somebody who may work the ticket."""
        return self.ticket(evidence).assignee_id in self.case.assignee_ids

    def is_unblocked(self, evidence: Evidence) -> bool:
        """Say whether the way is free and the ticket is on it."""
        return self.is_blocker_resolved(evidence) and self.ticket(evidence).status not in (None, "blocked")

    def is_blocker_resolved(self, evidence: Evidence) -> bool:
        """Say whether what blocked the ticket is out of the way, and was taken out of it in the right way."""
        blocker = self.case.blocker
        if blocker is None:
            return True
        is_linked = evidence.row(row_views.TICKETDESK, "links", blocker.link_id) is not None
        if blocker.resolution is BlockerResolution.UNLINK:
            return not is_linked
        other = evidence.ticket(blocker.key)
        return is_linked and other is not None and other.status == "resolved"

    def is_blocker_valid(self, evidence: Evidence) -> bool:
        """Say whether the blocker stands as it was found, or is resolved."""
        blocker = self.case.blocker
        if blocker is None:
            return True
        first = evidence.row_at(row_views.TICKETDESK, "tickets", blocker.key, 0)
        now = evidence.ticket(blocker.key)
        return (
            first is not None and now is not None and now.status in (row_views.parse_ticket(first).status, "resolved")
        )

    def is_cancelled_for_reason(self, evidence: Evidence) -> bool:
        """Say whether the ticket is cancelled for the reason that the case has to be refused for."""
        ticket, refusal = self.ticket(evidence), self.case.refusal
        matches = refusal is not None and refusal.matches(ticket.reason_code, ticket.reason_ref)
        return ticket.status == "cancelled" and matches

    def last_transition(self, evidence: Evidence, status: str) -> Change | None:
        """Return the change that brought the ticket to that status; the last one, where there are several."""
        found = None
        for change in evidence.row_changes(row_views.TICKETDESK, "tickets", self.case.ticket_key):
            before = (change.before or {}).get("status")
            if change.after is not None and change.after["status"] == status != before:
                found = change
        return found

    def was_complete_when_ended(self, evidence: Evidence) -> bool:
        """Say whether priority, assignee, checklist and verification were right when the ticket was ended."""
        change = self.completion_change(evidence)
        if change is None or change.after is None:
            return False
        items = (
            evidence.row_at(row_views.TICKETDESK, "checklist_items", item, change.step) for item in self.case.open_items
        )
        ticket = row_views.parse_ticket(change.after)
        is_sorted = ticket.priority == self.case.priority and ticket.assignee_id in self.case.assignee_ids
        is_complete = all(item is not None and row_views.is_done(item) for item in items)
        return is_sorted and is_complete and ticket.verified_at is not None

    def was_ended_in_order(self, evidence: Evidence, request_id: str) -> bool:
        """Say whether the ticket was complete, verified and linked to an approved request when it was ended."""
        change = self.completion_change(evidence)
        if change is None or change.after is None or not self.was_complete_when_ended(evidence):
            return False
        request = evidence.row_at(row_views.APPROVALFLOW, "requests", request_id, change.step)
        is_approved = request is not None and row_views.parse_request(request).status == "approved"
        return is_approved and row_views.parse_ticket(change.after).approval_ref == request_id

    def was_ended_in_time(self, evidence: Evidence) -> bool:
        """Say whether the ticket was ended by the end of the day on which it is due."""
        change = self.completion_change(evidence)
        return change is not None and change.at <= self.case.due_at(self.company)
