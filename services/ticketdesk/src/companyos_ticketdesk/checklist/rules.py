"""When a checklist item may be ticked off, and when a checklist is complete."""

from __future__ import annotations

from collections.abc import Sequence

from companyos_shared.chassis import Problem
from companyos_ticketdesk.checklist.model import ChecklistItem


class ChecklistItemNotFound(Problem):
    status, code, title = 404, "checklist-item-not-found", "The ticket has no such checklist item"


class ChecklistItemDone(Problem):
    status, code, title = 409, "checklist-item-done", "The checklist item is done already"


def check_is_open(item: ChecklistItem) -> None:
    """Raise ChecklistItemDone (409) when somebody completed the item before."""
    if item.done_at is not None:
        raise ChecklistItemDone(f"{item.id} was completed by {item.done_by}.")


def count_open(items: Sequence[ChecklistItem]) -> int:
    """Return how many items wait to be done; an empty checklist is complete."""
    return sum(item.done_at is None for item in items)
