"""The app that the pages belong to, and what several of them choose from."""

from __future__ import annotations

from companyos_approvalflow.approval_types.service import list_types
from companyos_shared.chassis import EVERYTHING, Call, Pages

PAGES = Pages("companyos_approvalflow.pages", app="approvalflow", title="ApprovalFlow")


def titles_of_types(call: Call) -> dict[str, str]:
    """Return the approval types: title by key."""
    return {row.key: row.title for row in list_types(call, EVERYTHING).items}


def colleagues(call: Call) -> list[tuple[str, str]]:
    """Return who works for the company today: id and name with title, by name."""
    employed = [person for person in call.company.people if person.is_employed(call.now.date())]
    return sorted(((one.id, f"{one.name}, {one.title}") for one in employed), key=lambda one: one[1])
