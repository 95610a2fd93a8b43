"""What a search looks for, and how well a ticket answers it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from companyos_shared.chassis import Problem
from companyos_ticketdesk.board.model import Searchable

MOST_WORDS = 8
SHORTEST_WORD_CHARS = 2
NAME_WEIGHT = 4
TAG_WEIGHT = 2
DESCRIPTION_WEIGHT = 1

_WORD = re.compile(r"\w+(?:-\w+)*")


class QueryBlank(Problem):
    status, code, title = 422, "query-blank", "The query holds no word to look for"


def search_words(query: str) -> tuple[str, ...]:
    """Return the different words of a query, caseless; raise QueryBlank (422) where there are none.

    At most MOST_WORDS count; a word has at least SHORTEST_WORD_CHARS characters; a key like OPS-1042 is one word.
    """
    found = (word.casefold() for word in _WORD.findall(query))
    words = tuple(dict.fromkeys(word for word in found if len(word) >= SHORTEST_WORD_CHARS))
    if not words:
        raise QueryBlank
    return words[:MOST_WORDS]


def score(ticket: Searchable, words: Sequence[str]) -> int:
    """Return how well a ticket answers: for each word the weights of the places that hold it; 0 is no match."""
    places = (
        (f"{ticket.key} {ticket.title}".casefold(), NAME_WEIGHT),
        (" ".join(ticket.tags).casefold(), TAG_WEIGHT),
        (ticket.description.casefold(), DESCRIPTION_WEIGHT),
    )
    return sum(weight for word in words for text, weight in places if word in text)


def ranked_keys(tickets: Sequence[Searchable], words: Sequence[str]) -> list[str]:
    """Return the keys of the tickets that match at all, best first, then by key."""
    scored = [(-score(ticket, words), ticket.key) for ticket in tickets]
    return [key for points, key in sorted(scored) if points]
