"""Checks of the entry ticket: its current state, and its state at the step at which it was ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.cases import BlockerResolution, TicketCase
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.mismatch import (
    Mismatch,
    deciding_step,
    find_row_mismatch,
    first_mismatch,
    format_columns,
    one_of,
    row_path,
)
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

    def is_closed(self, evidence: Evidence) -> bool:
        """Return whether the agent has ever resolved or closed the ticket, or set its end status.

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

    def mismatch(self, evidence: Evidence, **expected: Any) -> Mismatch | None:
        """Return a mismatch for the first column without one of its expected values, None if there is none."""
        return find_row_mismatch(evidence, row_views.TICKETDESK, "tickets", self.case.ticket_key, expected)

    @property
    def row_path(self) -> str:
        """Path of the entry ticket."""
        return row_path(row_views.TICKETDESK, "tickets", self.case.ticket_key)

    def completion_change(self, evidence: Evidence) -> Change | None:
        """Return the last change that set the end status, None if there is none."""
        return self.last_transition(evidence, self.case.end_status)

    def has_priority(self, evidence: Evidence) -> bool:
        """Return whether the ticket has the priority that the policy in force requires."""
        return self.ticket(evidence).priority == self.case.priority

    def is_marked_verified(self, evidence: Evidence) -> bool:
        """Return whether anybody has verified the ticket."""
        return self.ticket(evidence).verified_at is not None

    def find_unverified(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the agent has not verified the ticket."""
        if self.ticket(evidence).verified_at is None:
            return Mismatch(self.row_path, f"verified by {self.case.agent_id}", "not verified")
        return self.mismatch(evidence, verified_by=self.case.agent_id)

    def find_undone(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch for the checklist items that were open at the start and are not done, None if all are."""
        rows = [(item, evidence.row(row_views.TICKETDESK, "checklist_items", item.id)) for item in self.case.open_items]
        return first_mismatch(
            [
                Mismatch(item.row_path, "done", "not done")
                for item, row in rows
                if row is None or not row_views.is_done(row)
            ]
        )

    def find_unread(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch for the items that the agent ticked before it was shown their backing rows, or None."""
        found = (item.find_unread(evidence) for item in self.case.open_items)
        return first_mismatch([mismatch for mismatch in found if mismatch is not None])

    def is_unblocked(self, evidence: Evidence) -> bool:
        """Return whether the blocker is resolved and the ticket has a status other than `blocked`."""
        return self.is_blocker_resolved(evidence) and self.ticket(evidence).status not in (None, "blocked")

    def is_blocker_resolved(self, evidence: Evidence) -> bool:
        """Return whether the blocker, if any, was resolved in the correct way."""
        return self.find_blocker(evidence) is None

    def find_blocker(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the blocker still blocks the ticket or was resolved in a wrong way, else None."""
        blocker = self.case.blocker
        if blocker is None:
            return None
        is_linked = evidence.row(row_views.TICKETDESK, "links", blocker.link_id) is not None
        step = deciding_step(evidence.row_changes(row_views.TICKETDESK, "links", blocker.link_id))
        link = row_path(row_views.TICKETDESK, "links", blocker.link_id)
        if blocker.resolution is BlockerResolution.UNLINK:
            return Mismatch(link, "removed", "in place", step, blocker.key) if is_linked else None
        if not is_linked:
            return Mismatch(link, "in place", "removed", step, blocker.key)
        return find_row_mismatch(evidence, row_views.TICKETDESK, "tickets", blocker.key, {"status": "resolved"})

    def find_changed_blocker(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the status of the blocker is neither its initial one nor `resolved`."""
        blocker = self.case.blocker
        if blocker is None:
            return None
        first = evidence.row(row_views.TICKETDESK, "tickets", blocker.key, 0) or {}
        statuses = first.get("status"), "resolved"
        return find_row_mismatch(evidence, row_views.TICKETDESK, "tickets", blocker.key, {"status": statuses})

    def find_not_cancelled(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the ticket is not cancelled for the reason of the refusal."""
        if self.is_cancelled_for_reason(evidence):
            return None
        refusal, columns = self.case.refusal, ("status", "reason_code", "reason_ref")
        reason = f", reason_code: {refusal.code}, reason_ref: {one_of(refusal.references)}" if refusal else ""
        changes = evidence.row_changes(row_views.TICKETDESK, "tickets", self.case.ticket_key)
        row = evidence.row(row_views.TICKETDESK, "tickets", self.case.ticket_key)
        step = deciding_step(changes, *columns)
        return Mismatch(self.row_path, f"status: cancelled{reason}", format_columns(row, columns), step)

    def is_cancelled_for_reason(self, evidence: Evidence) -> bool:
        """Return whether the ticket is cancelled for the reason of the refusal."""
        ticket, refusal = self.ticket(evidence), self.case.refusal
        matches = refusal is not None and refusal.matches(ticket.reason_code, ticket.reason_ref)
        return ticket.status == "cancelled" and matches

    def last_transition(self, evidence: Evidence, status: str) -> Change | None:
        """Return the last change that set the ticket to a status, None if there is none."""
        found = None
        for change in evidence.row_changes(row_views.TICKETDESK, "tickets", self.case.ticket_key):
            before = (change.before or {}).get("status")
            if change.after is not None and change.after["status"] == status != before:
                found = change
        return found

    def missing_when_ended(self, evidence: Evidence, change: Change) -> list[str]:
        """Return which of priority, assignee, checklist and verification were wrong when the ticket was ended."""
        items = (
            evidence.row(row_views.TICKETDESK, "checklist_items", item.id, change.step) for item in self.case.open_items
        )
        ticket = row_views.parse_ticket(change.after or {})
        was_right = {
            "priority": ticket.priority == self.case.priority,
            "assignee": ticket.assignee_id in self.case.assignee_ids,
            "checklist": all(item is not None and row_views.is_done(item) for item in items),
            "verification": ticket.verified_at is not None,
        }
        return [name for name, is_right in was_right.items() if not is_right]

    def missing_approval_when_ended(self, evidence: Evidence, change: Change, request_id: str) -> list[str]:
        """Return which of the approval and the link to it were missing when the ticket was ended."""
        was_right = {
            "approval": evidence.was_approved(request_id, change.step),
            "link to the approval": row_views.parse_ticket(change.after or {}).approval_ref == request_id,
        }
        return [name for name, is_right in was_right.items() if not is_right]

    def find_late_end(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the ticket was not ended by the end of office hours on the due date."""
        change, due_at = self.completion_change(evidence), self.case.due_at(self.company)
        if change is not None and change.at <= due_at:
            return None
        expected = f"status: {self.case.end_status} by {due_at.isoformat()}"
        found = "not by now" if change is None else change.at.isoformat()
        return Mismatch(self.row_path, expected, found, None if change is None else change.step)
