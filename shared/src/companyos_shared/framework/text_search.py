"""Ranked text search in memory by words and prefixes. For a base, a full-text index preselects the rows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Table, TextClause, text, true

from companyos_shared.framework.call import Call
from companyos_shared.framework.change_capture import search_table
from companyos_shared.framework.errors import ServiceError, shortened

T = TypeVar("T")

SHORTEST_WORD_CHARS = 2
MAX_CANDIDATES = 500
"""Maximum number of searched rows of a base; the others match fewer or more frequent words."""

_WORD = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*|[^\W_]+")
_POSSESSIVE = re.compile(r"['\u2019]s\b")


class QueryBlankError(ServiceError):
    status, code, title = 422, "query-blank", "Query has no words"


class Searchable(NamedTuple):
    """The searched parts of a row. The id counts as part of the title."""

    id: str
    title: str
    text: str


def candidates(call: Call, table: Table, query: str | None) -> ColumnElement[bool] | TextClause:
    """Return a condition that selects the rows to search: all rows, but at most MAX_CANDIDATES of a base.

    The table needs SEARCHED in its `info`, which creates the index of the base's texts. Raises QueryBlankError (422).
    """
    if query is None or not call.has_base:
        return true()
    name, index = table.name, search_table(table)
    return text(
        f"{name}.rowid IN (SELECT rowid FROM {name} WHERE _in_base = 0 UNION ALL SELECT * FROM "  # noqa: S608
        f"(SELECT rowid FROM {index} WHERE {index} MATCH :words ORDER BY rank LIMIT {MAX_CANDIDATES}))"
    ).bindparams(words=" OR ".join(f'"{word}"*' for word in _query_words(query)))


def search(rows: Iterable[T], query: str | None, searchable: Callable[[T], Searchable]) -> list[T]:
    """Return the rows that contain a word of the query, best match first; all rows by id if the query is None.

    A word matches whole words and prefixes, regardless of case. Rows with more of the words come first, then rows
    with more of them in the title, then rows with more of them as whole words, then by id.
    Raises QueryBlankError (422).
    """
    if query is None:
        return sorted(rows, key=lambda row: searchable(row).id)
    words = _query_words(query)
    ranked = [(_rank(words, parts), parts.id, row) for row in rows for parts in [searchable(row)]]
    matches = [match for match in ranked if match[0][0] < 0]
    return [row for _, _, row in sorted(matches, key=lambda match: match[:2])]


def _query_words(query: str) -> list[str]:
    words = dict.fromkeys(_normalize(word) for word in query.split())
    usable = [word for word in words if len(word) >= SHORTEST_WORD_CHARS]
    if not usable:
        raise QueryBlankError(
            f"query must contain a word of at least {SHORTEST_WORD_CHARS} characters; got {shortened(query)}"
        )
    return usable


def _rank(words: Sequence[str], parts: Searchable) -> tuple[int, int, int]:
    """Return the negated counts of matching words: anywhere, in the title, and as whole words."""
    title = f" {_normalize(f'{parts.id} {parts.title}')} "
    everything = f"{title}{_normalize(parts.text)} "
    return (
        -sum(f" {word}" in everything for word in words),
        -sum(f" {word}" in title for word in words),
        -sum(f" {word} " in everything for word in words),
    )


def _normalize(text: str) -> str:
    """Return the case-folded words of a text without accents, separated by blanks: `PO-3311` becomes `po 3311`."""
    if not text.isascii():
        text = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    return " ".join(_WORD.findall(_POSSESSIVE.sub("", text.casefold())))
