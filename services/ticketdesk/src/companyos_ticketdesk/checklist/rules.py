"""Rules of checklists."""

from __future__ import annotations

from collections.abc import Sequence

from companyos_shared.framework import ServiceError
from companyos_ticketdesk.checklist.schemas import ChecklistItemView


class ChecklistItemNotFoundError(ServiceError):
    status, code, title = 404, "checklist-item-not-found", "Checklist item not found"


class ChecklistItemDoneError(ServiceError):
    status, code, title = 409, "checklist-item-done", "Checklist item already done"


def check_is_open(item: ChecklistItemView) -> None:
    """Raise ChecklistItemDoneError (409) for a completed item."""
    if item.done_at is not None:
        raise ChecklistItemDoneError(f"{item.id} was completed by {item.done_by}")


def count_open(items: Sequence[ChecklistItemView]) -> int:
    """Return the number of open items; an empty checklist is complete."""
    return sum(item.done_at is None for item in items)
