"""The app that the pages belong to, and what several of them choose from."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from companyos_approvalflow.approval_types.operations import list_types
from companyos_shared.chassis import Call, PageParams, Pages

PAGES = Pages("companyos_approvalflow.pages", app="approvalflow", title="ApprovalFlow")

ROWS = 20
"""Rows on a page."""

EVERYTHING = PageParams(100_000, None)
"""A list as a whole, where a page chooses from it."""

Text = Annotated[str, Query(max_length=200)]
Cursor = Annotated[str | None, Query(max_length=512)]


def rows_from(cursor: str | None) -> PageParams:
    """Return how much of a list a page shows."""
    return PageParams(ROWS, cursor or None)


def titles_of_types(call: Call) -> dict[str, str]:
    """Return the approval types: title by key."""
    return {row.key: row.title for row in list_types(call, EVERYTHING).items}


def colleagues(call: Call) -> list[tuple[str, str]]:
    """Return who works for the company today: id and name with title, by name."""
    employed = [person for person in call.company.people if person.is_employed(call.now.date())]
    return sorted(((one.id, f"{one.name}, {one.title}") for one in employed), key=lambda one: one[1])
