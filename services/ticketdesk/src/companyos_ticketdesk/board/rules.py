"""Full-text search of tickets: query parsing and ranking."""

from __future__ import annotations

import re
from collections.abc import Sequence

from companyos_shared.framework import ServiceError
from companyos_shared.framework.errors import shortened
from companyos_ticketdesk.board.model import Searchable

MOST_WORDS = 8
SHORTEST_WORD_CHARS = 2
NAME_WEIGHT = 4
TAG_WEIGHT = 2
DESCRIPTION_WEIGHT = 1

_WORD = re.compile(r"\w+(?:-\w+)*")


class QueryBlankError(ServiceError):
    status, code, title = 422, "query-blank", "Query has no words"


def search_words(query: str) -> tuple[str, ...]:
    """Return the distinct case-folded words of a query; raises QueryBlankError (422) if there are none.

    At most MOST_WORDS are used. A word has at least SHORTEST_WORD_CHARS characters; a key like OPS-1042 is one word.
    """
    words_in_query = (word.casefold() for word in _WORD.findall(query))
    words = tuple(dict.fromkeys(word for word in words_in_query if len(word) >= SHORTEST_WORD_CHARS))
    if not words:
        raise QueryBlankError(
            f"q must have a word of at least {SHORTEST_WORD_CHARS} characters; got {shortened(query)}"
        )
    return words[:MOST_WORDS]


def score(ticket: Searchable, words: Sequence[str]) -> int:
    """Return the score of a ticket: the sum of the weights of the parts that contain each word; 0 means no match."""
    places = (
        (f"{ticket.key} {ticket.title}".casefold(), NAME_WEIGHT),
        (" ".join(ticket.tags).casefold(), TAG_WEIGHT),
        (ticket.description.casefold(), DESCRIPTION_WEIGHT),
    )
    return sum(weight for word in words for text, weight in places if word in text)


def ranked_keys(tickets: Sequence[Searchable], words: Sequence[str]) -> list[str]:
    """Return the keys of matching tickets, best first, then by key."""
    scored = [(-score(ticket, words), ticket.key) for ticket in tickets]
    return [key for points, key in sorted(scored) if points]
