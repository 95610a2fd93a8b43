"""What a comment is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """One row of the comments table."""

    id: str
    ticket_key: str
    author_id: str
    created_at: datetime
    body: str


def comment_of(row: Row[Any]) -> Comment:
    """Return a row of the comments table as a value."""
    return Comment(**row._mapping)
