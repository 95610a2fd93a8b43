"""Full-text search and ranking of rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")

MOST_WORDS = 12
SHORTEST_WORD = 2
WEIGHT_IN_TITLE = 3
WEIGHT_IN_TEXT = 1
_WORD = re.compile(r"[\w.@-]+")


class Searchable(NamedTuple):
    """The searched parts of a row; equal matches are ordered by id."""

    id: str
    title: str
    text: str


def words_of(query: str) -> list[str]:
    """Return the distinct lower-case words of a query, in order, at most MOST_WORDS."""
    found = (word.strip(".-") for word in _WORD.findall(query.casefold()))
    return list(dict.fromkeys(word for word in found if len(word) >= SHORTEST_WORD))[:MOST_WORDS]


def best_first(rows: Iterable[T], query: str | None, searchable: Callable[[T], Searchable]) -> list[T]:
    """Return the rows that contain a word of the query, best match first, then by id; all rows without a query."""
    if not query:
        return sorted(rows, key=lambda row: searchable(row).id)
    words = words_of(query)
    scored = [(score(words, parts), parts.id, row) for row in rows for parts in [searchable(row)]]
    return [row for points, _, row in sorted(scored, key=lambda found: (-found[0], found[1])) if points > 0]


def score(words: Sequence[str], parts: Searchable) -> int:
    """Return three for each word found in the title and one for each found in the id or text."""
    title, text = parts.title.casefold(), f"{parts.id} {parts.text}".casefold()
    return sum(WEIGHT_IN_TITLE * (word in title) + WEIGHT_IN_TEXT * (word in text) for word in words)
