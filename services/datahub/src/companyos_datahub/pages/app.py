"""The app that the pages belong to, and what is asked of every list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, TypeVar

from fastapi import Query

from companyos_shared.chassis import InvalidArguments, PageParams, Pages

PAGES = Pages("companyos_datahub.pages", app="datahub", title="DataHub")

ROWS = 20
"""Rows on a page."""

EVERYTHING = PageParams(100_000, None)
"""A list as a whole, where a page shows it at once or chooses from it."""

Text = Annotated[str, Query(max_length=200)]
Cursor = Annotated[str | None, Query(max_length=512)]

T = TypeVar("T")


def rows_from(cursor: str | None) -> PageParams:
    """Return how much of a list a page shows."""
    return PageParams(ROWS, cursor or None)


def chosen(choices: Iterable[T], text: str) -> T | None:
    """Return the choice that was made, None where none was; raises InvalidArguments (422) for another."""
    if not text:
        return None
    for choice in choices:
        if choice == text:
            return choice
    raise InvalidArguments(f"{text!r} is none of the choices.")
