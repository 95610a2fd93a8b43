"""Full-text search: how well a row's title and text match the words of a query, in SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlalchemy import ColumnElement, Integer, case, func, literal

MOST_WORDS = 12
SHORTEST_WORD = 2
WEIGHT_IN_TITLE = 3
WEIGHT_IN_TEXT = 1
_WORD = re.compile(r"[\w.@-]+")


def words_of(query: str | None) -> list[str]:
    """Return the different words of a query in lower case, in order, at most MOST_WORDS."""
    found = (word.strip(".-") for word in _WORD.findall((query or "").lower()))
    return list(dict.fromkeys(word for word in found if len(word) >= SHORTEST_WORD))[:MOST_WORDS]


def relevance(words: Sequence[str], title: ColumnElement[str], text: ColumnElement[str]) -> ColumnElement[int]:
    """Return the score of a row as SQL: three for each word found in its title, one for each found in its text."""
    score: ColumnElement[int] = literal(0, Integer)
    for word in words:
        score = score + _found(word, title, WEIGHT_IN_TITLE) + _found(word, text, WEIGHT_IN_TEXT)
    return score


def _found(word: str, column: ColumnElement[str], weight: int) -> ColumnElement[int]:
    return case((func.instr(func.lower(column), word) > 0, weight), else_=0)
