"""Several tickets that a task brings to a wanted end: triaged, prioritised and assigned, or merged as duplicates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from companyos.contract import ReasonCode
from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.change_policy import (
    Allowance,
    added_where,
    changed_keys,
    link_added_and_removed,
)
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.milestones import Milestone, shared_milestones
from companyos_gateway.evaluation.mismatch import (
    Mismatch,
    deciding_step,
    format_columns,
    one_of,
    row_path,
    with_others,
)
from companyos_gateway.evaluation.rubric import Check
from companyos_shared.wire.control import Row

TICKETDESK = row_views.TICKETDESK
COLUMNS = frozenset({"status", "priority", "assignee_id", "reason_code", "reason_ref"})


@dataclass(frozen=True)
class TicketLinked:
    """Goal: the agent has linked two tickets, such as what blocks a ticket or duplicates it."""

    kind: str
    from_key: str
    to_key: str

    @property
    def row_path(self) -> str:
        """The ticket that the link leads to."""
        return row_path(TICKETDESK, "tickets", self.to_key)

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether there is such a link, now or once a step had been taken."""
        for key in evidence.changed_keys(TICKETDESK, "links"):
            row = evidence.row(TICKETDESK, "links", key)
            row = row if step is None else evidence.row_at(TICKETDESK, "links", key, step)
            if self._is_shown_by(row):
                return True
        return False

    def mismatch(self, evidence: Evidence) -> Mismatch:
        """Return that there is no such link."""
        return Mismatch(self.row_path, f"link {self.kind} from {self.from_key}", "not linked")

    def allowances(self) -> Iterable[Allowance]:
        """Return the new link."""
        yield Allowance(TICKETDESK, "links", lambda _, change: change.added and self._is_shown_by(change.after))

    def is_damaged(self, evidence: Evidence) -> bool:
        """Say that a link can be removed again."""
        return False

    def _is_shown_by(self, row: Row | None) -> bool:
        return row is not None and (row["kind"], row["from_key"], row["to_key"]) == (
            self.kind,
            self.from_key,
            self.to_key,
        )


@dataclass(frozen=True, kw_only=True)
class TicketGoal:
    """Required final state of a ticket; None means unchanged.

    A ticket with an `original` is merged into it: linked as its duplicate, then cancelled for that.
    """

    key: str
    status: str = "open"
    priority: str | None = None
    assignee_ids: tuple[str, ...] | None = None
    original: str | None = None

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether the ticket is so, now or once a step had been taken."""
        return all(predicate(self, evidence, step) for predicate in _SIDES.values())

    def mismatch(self, evidence: Evidence, names: Sequence[str]) -> Mismatch:
        """Return what is expected of those sides of the ticket, and what was found."""
        columns = [column for name in names for column in _COLUMNS_OF_SIDE[name]]
        changes = evidence.row_changes(TICKETDESK, "tickets", self.key)
        found = format_columns(evidence.row(TICKETDESK, "tickets", self.key), columns)
        expected = ", ".join(self._expected(evidence, name) for name in names)
        return Mismatch(row_path(TICKETDESK, "tickets", self.key), expected, found, deciding_step(changes, *columns))

    def failing_sides(self, evidence: Evidence) -> list[str]:
        """Return the sides of the ticket that are not as they must be."""
        return [name for name, predicate in _SIDES.items() if not predicate(self, evidence, None)]

    def _expected(self, evidence: Evidence, name: str) -> str:
        first = self.ticket(evidence, 0)
        if name == "duplicates_linked":
            return f"linked as a duplicate of {self.original}"
        if name == "priorities_set":
            return f"priority: {self.priority or first.priority}"
        if name == "assignees_set":
            held = [first.assignee_id or "none"]
            return f"assignee_id: {one_of(held if self.assignee_ids is None else self.assignee_ids)}"
        if self.original is not None:
            return f"status: cancelled, reason: {ReasonCode.DUPLICATE.value} {self.original}"
        return f"status: {self.status}, without a reason"

    def is_triaged(self, evidence: Evidence, step: int | None) -> bool:
        """Say whether the ticket has the wanted status, for no other reason than the wanted one."""
        ticket = self.ticket(evidence, step)
        reason = (None, None) if self.original is None else (ReasonCode.DUPLICATE.value, self.original)
        expected = "cancelled" if self.original is not None else self.status
        return ticket.status == expected and (ticket.reason_code, ticket.reason_ref) == reason

    def is_prioritised(self, evidence: Evidence, step: int | None) -> bool:
        """Say whether the ticket has the wanted priority."""
        expected = self.ticket(evidence, 0).priority if self.priority is None else self.priority
        return self.ticket(evidence, step).priority == expected

    def is_assigned(self, evidence: Evidence, step: int | None) -> bool:
        """Return whether the assignee is eligible."""
        held = self.ticket(evidence, step).assignee_id
        if self.assignee_ids is None:
            return held == self.ticket(evidence, 0).assignee_id
        return held in self.assignee_ids

    def is_merged(self, evidence: Evidence, step: int | None) -> bool:
        """Say whether the ticket is linked to its original, where it has one."""
        return self.link is None or self.link.is_met(evidence, step=step)

    def ticket(self, evidence: Evidence, step: int | None) -> row_views.TicketView:
        """Return the ticket as it is now, or as it was once a step had been taken."""
        row = evidence.row(TICKETDESK, "tickets", self.key)
        row = row if step is None else evidence.row_at(TICKETDESK, "tickets", self.key, step)
        return row_views.MISSING_TICKET if row is None else row_views.parse_ticket(row)

    @property
    def link(self) -> TicketLinked | None:
        """The link to the original, where it has one."""
        return None if self.original is None else TicketLinked("duplicates", self.key, self.original)


class TicketGoals:
    """The goals of a task's tickets: these and no others are to change."""

    def __init__(self, goals: Sequence[TicketGoal]) -> None:
        self.goals = tuple(goals)
        self.keys = tuple(goal.key for goal in goals)

    def unmet(self, evidence: Evidence, *, step: int) -> list[str]:
        """Return the tickets that were not as they must be once a step had been taken."""
        return [
            row_path(TICKETDESK, "tickets", goal.key) for goal in self.goals if not goal.is_met(evidence, step=step)
        ]

    def checks(self, *, idle: Collection[str] = ()) -> Iterable[Check]:
        """Return a check for each side of the work on them; `idle` names those that hold from the start."""
        for check_id, predicate in _SIDES.items():
            if check_id != "duplicates_linked" or any(goal.original is not None for goal in self.goals):
                yield Check(check_id, check_id in idle, self._find_mismatch(check_id, predicate))

    def milestones(self, kind: str) -> Iterable[Milestone]:
        """Return a milestone for each ticket; together they pay the points of the kind."""
        return shared_milestones(kind, {f"ticket_{number}": goal.is_met for number, goal in enumerate(self.goals, 1)})

    def allowances(self) -> Iterable[Allowance]:
        """Return what may change on the tickets and between them, comments included."""
        yield Allowance(TICKETDESK, "tickets", changed_keys(self.keys), COLUMNS)
        yield Allowance(TICKETDESK, "transitions", added_where("ticket_key", self.keys))
        yield Allowance(TICKETDESK, "comments", added_where("ticket_key", self.keys))
        yield Allowance(TICKETDESK, "removed_links", link_added_and_removed(self.keys))
        for goal in self.goals:
            if goal.link is not None:
                yield from goal.link.allowances()

    def damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the tickets that were brought to a wrong end for good."""
        for goal in self.goals:
            if goal.ticket(evidence, None).status in row_views.FINAL_TICKET_STATUSES and not goal.is_triaged(
                evidence, None
            ):
                yield f"{TICKETDESK}.tickets[{goal.key}]"

    def _find_mismatch(self, check_id: str, predicate: _Side) -> Callable[[Evidence], Mismatch | None]:
        def find_mismatch(evidence: Evidence) -> Mismatch | None:
            failing = [goal for goal in self.goals if not predicate(goal, evidence, None)]
            if not failing:
                return None
            others = [row_path(TICKETDESK, "tickets", goal.key) for goal in failing[1:]]
            return with_others(failing[0].mismatch(evidence, [check_id]), others)

        return find_mismatch


_Side = Callable[[TicketGoal, Evidence, int | None], bool]
_SIDES: dict[str, _Side] = {
    "tickets_triaged": TicketGoal.is_triaged,
    "priorities_set": TicketGoal.is_prioritised,
    "assignees_set": TicketGoal.is_assigned,
    "duplicates_linked": TicketGoal.is_merged,
}
_COLUMNS_OF_SIDE = {
    "tickets_triaged": ("status", "reason_code", "reason_ref"),
    "priorities_set": ("priority",),
    "assignees_set": ("assignee_id",),
    "duplicates_linked": ("status",),
}
