"""Goals on tickets: triaged and assigned, merged as duplicates, linked, or resolved after a part of the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.change_policy import (
    Allowance,
    added_where,
    changed_keys,
    link_added_and_removed,
)
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.goals import EntityGoal
from companyos_gateway.evaluation.mismatch import (
    Mismatch,
    deciding_step,
    format_columns,
    is_touched,
    list_names,
    one_of,
    row_path,
)
from companyos_shared.wire.company import ReasonCode
from companyos_shared.wire.control import Change, Row

TICKETDESK = row_views.TICKETDESK
COLUMNS = frozenset({"status", "priority", "assignee_id", "reason_code", "reason_ref"})


@dataclass(frozen=True)
class TicketLinked(EntityGoal):
    """Goal: the agent has linked two tickets, such as a ticket and its blocker or duplicate."""

    kind: str
    from_key: str
    to_key: str

    @property
    def row_path(self) -> str:
        """Path of the ticket that the link points to."""
        return row_path(TICKETDESK, "tickets", self.to_key)

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Return whether the link exists, now or as of `step`."""
        for key in evidence.changed_keys(TICKETDESK, "links"):
            if self._is_shown_by(evidence.row(TICKETDESK, "links", key, step)):
                return True
        return False

    def mismatch(self, evidence: Evidence) -> Mismatch:
        """Return the mismatch of a missing link."""
        return Mismatch(self.row_path, f"link {self.kind} from {self.from_key}", "not linked")

    def allowances(self) -> Iterable[Allowance]:
        """Return the allowance for the new link."""
        yield Allowance(TICKETDESK, "links", lambda _, change: change.added and self._is_shown_by(change.after))

    def _is_shown_by(self, row: Row | None) -> bool:
        return row is not None and (row["kind"], row["from_key"], row["to_key"]) == (
            self.kind,
            self.from_key,
            self.to_key,
        )


@dataclass(frozen=True, kw_only=True)
class TicketGoal(EntityGoal):
    """Required final state of a ticket; None means unchanged.

    A ticket with an `original` is merged into it: linked as its duplicate, then cancelled for that reason.
    """

    key: str
    status: str = "open"
    priority: str | None = None
    assignee_ids: tuple[str, ...] | None = None
    original: str | None = None

    @property
    def row_path(self) -> str:
        """Path of the ticket."""
        return row_path(TICKETDESK, "tickets", self.key)

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Return whether the ticket has this state, now or as of `step`."""
        return all(predicate(self, evidence, step) for predicate, _ in _SIDES.values())

    def mismatch(self, evidence: Evidence) -> Mismatch:
        """Return a mismatch with the aspects of the ticket that are wrong."""
        names = [name for name, (predicate, _) in _SIDES.items() if not predicate(self, evidence, None)]
        columns = [column for name in names for column in _SIDES[name][1]]
        changes = evidence.row_changes(TICKETDESK, "tickets", self.key)
        found = format_columns(evidence.row(TICKETDESK, "tickets", self.key), columns)
        expected = ", ".join(self._expected(evidence, name) for name in names)
        return Mismatch(self.row_path, expected, found, deciding_step(changes, *columns))

    def allowances(self) -> Iterable[Allowance]:
        """Return the allowances for the ticket, its comments and its link."""
        yield Allowance(TICKETDESK, "tickets", changed_keys([self.key]), COLUMNS)
        yield Allowance(TICKETDESK, "comments", added_where("ticket_key", [self.key]))
        yield Allowance(TICKETDESK, "removed_links", link_added_and_removed([self.key]))
        if self.link is not None:
            yield from self.link.allowances()

    def is_damaged(self, evidence: Evidence) -> bool:
        """Return whether the ticket was closed or cancelled although it must not be."""
        is_final = self.ticket(evidence, None).status in row_views.FINAL_TICKET_STATUSES
        return is_final and not self.is_triaged(evidence, None)

    def _expected(self, evidence: Evidence, name: str) -> str:
        first = self.ticket(evidence, 0)
        if name == "link":
            return f"linked as a duplicate of {self.original}"
        if name == "priority":
            return f"priority: {self.priority or first.priority}"
        if name == "assignee":
            held = [first.assignee_id or "none"]
            return f"assignee_id: {one_of(held if self.assignee_ids is None else self.assignee_ids)}"
        if self.original is not None:
            return f"status: cancelled, reason: {ReasonCode.DUPLICATE.value} {self.original}"
        return f"status: {self.status}, without a reason"

    def is_triaged(self, evidence: Evidence, step: int | None) -> bool:
        """Return whether the ticket has the required status and reason."""
        ticket = self.ticket(evidence, step)
        reason = (None, None) if self.original is None else (ReasonCode.DUPLICATE.value, self.original)
        expected = "cancelled" if self.original is not None else self.status
        return ticket.status == expected and (ticket.reason_code, ticket.reason_ref) == reason

    def is_prioritised(self, evidence: Evidence, step: int | None) -> bool:
        """Return whether the ticket has the required priority."""
        expected = self.ticket(evidence, 0).priority if self.priority is None else self.priority
        return self.ticket(evidence, step).priority == expected

    def is_assigned(self, evidence: Evidence, step: int | None) -> bool:
        """Return whether the assignee is eligible."""
        held = self.ticket(evidence, step).assignee_id
        if self.assignee_ids is None:
            return held == self.ticket(evidence, 0).assignee_id
        return held in self.assignee_ids

    def is_merged(self, evidence: Evidence, step: int | None) -> bool:
        """Return whether the ticket is linked to its original, if it has one."""
        return self.link is None or self.link.is_met(evidence, step=step)

    def ticket(self, evidence: Evidence, step: int | None) -> row_views.TicketView:
        """Return the ticket, now or as of `step`."""
        row = evidence.row(TICKETDESK, "tickets", self.key, step)
        return row_views.MISSING_TICKET if row is None else row_views.parse_ticket(row)

    @property
    def link(self) -> TicketLinked | None:
        """The link to the original, None if there is none."""
        return None if self.original is None else TicketLinked("duplicates", self.key, self.original)


_SIDES: dict[str, tuple[Callable[[TicketGoal, Evidence, int | None], bool], tuple[str, ...]]] = {
    "status": (TicketGoal.is_triaged, ("status", "reason_code", "reason_ref")),
    "priority": (TicketGoal.is_prioritised, ("priority",)),
    "assignee": (TicketGoal.is_assigned, ("assignee_id",)),
    "link": (TicketGoal.is_merged, ("status",)),
}
"""Aspects of a ticket: the predicate of each, and the columns that show it."""


@dataclass(frozen=True)
class PartResolved(EntityGoal):
    """Goal: the ticket of a part is resolved, and was resolved after its part was settled."""

    key: str
    part: tuple[EntityGoal, ...]

    @property
    def row_path(self) -> str:
        """Path of the ticket."""
        return row_path(TICKETDESK, "tickets", self.key)

    @property
    def goal(self) -> TicketGoal:
        """The required final state of the ticket."""
        return TicketGoal(key=self.key, status="resolved")

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Return whether the ticket is resolved, and the part was settled when it was last resolved."""
        return self.goal.is_met(evidence, step=step) and not self._unsettled(evidence)

    def mismatch(self, evidence: Evidence) -> Mismatch:
        """Return the mismatch of the ticket, or else the entities that were not settled when it was resolved."""
        if not self.goal.is_met(evidence):
            return self.goal.mismatch(evidence)
        resolved = self._resolution(evidence)
        expected = f"resolved after {list_names([one.row_path for one in self.part])}"
        found = f"resolved before {list_names(self._unsettled(evidence))}"
        return Mismatch(self.row_path, expected, found, None if resolved is None else resolved.step)

    def allowances(self) -> Iterable[Allowance]:
        """Return the allowances for the ticket."""
        return self.goal.allowances()

    def is_damaged(self, evidence: Evidence) -> bool:
        """Return whether the ticket was closed or cancelled."""
        return self.goal.is_damaged(evidence)

    def _unsettled(self, evidence: Evidence) -> list[str]:
        """Return the entities that were not settled when the ticket was last resolved."""
        resolved = self._resolution(evidence)
        return [one.row_path for one in self.part if resolved is None or not one.is_met(evidence, step=resolved.step)]

    def _resolution(self, evidence: Evidence) -> Change | None:
        """Return the last change that resolved the ticket, None if there is none."""
        changes = evidence.row_changes(TICKETDESK, "tickets", self.key)
        resolving = (one for one in reversed(changes) if (one.after or {}).get("status") == "resolved")
        return next((one for one in resolving if is_touched(one, ["status"])), None)
