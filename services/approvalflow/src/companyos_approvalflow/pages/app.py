"""Page registry and choices that several pages share."""

from __future__ import annotations

from companyos_approvalflow.approval_types.service import list_types
from companyos_shared.framework import ALL_ROWS, Call, Pages

PAGES = Pages("companyos_approvalflow.pages", app="approvalflow", title="ApprovalFlow")


def titles_of_types(call: Call) -> dict[str, str]:
    """Return the titles of approval types by key."""
    return {row.key: row.title for row in list_types(call, ALL_ROWS).items}


def colleagues(call: Call) -> list[tuple[str, str]]:
    """Return (id, "name, title") of current employees, by name."""
    employed = [person for person in call.company.people if person.is_employed(call.now.date())]
    choices = [(person.id, f"{person.name}, {person.title}") for person in employed]
    return sorted(choices, key=lambda choice: choice[1])
