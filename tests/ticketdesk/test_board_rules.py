"""Ticket search."""

from __future__ import annotations

import pytest

from companyos_ticketdesk.board.model import Searchable
from companyos_ticketdesk.board.rules import MOST_WORDS, QueryBlankError, ranked_keys, score, search_words

READER = Searchable(key="OPS-1", title="Badge reader", description="Refuses badges.", tags=("gate",))


@pytest.mark.parametrize("query", ["", "  ", "?!", "a", "- -"])
def test_a_query_without_words_is_blank(query: str) -> None:
    with pytest.raises(QueryBlankError):
        search_words(query)


def test_words_are_caseless_and_counted_once() -> None:
    assert search_words("Reader, reader READER gate") == ("reader", "gate")


def test_a_key_is_one_word() -> None:
    assert search_words("what about OPS-1042?") == ("what", "about", "ops-1042")


def test_words_beyond_the_most_are_left_out() -> None:
    assert len(search_words(" ".join(f"word{n}" for n in range(MOST_WORDS + 3)))) == MOST_WORDS


@pytest.mark.parametrize(
    ("words", "points"), [(("badge",), 5), (("gate",), 2), (("refuses",), 1), (("ops-1",), 4), (("cat",), 0)]
)
def test_a_word_counts_by_the_places_that_hold_it(words: tuple[str, ...], points: int) -> None:
    assert score(READER, words) == points


def test_case_is_ignored_beyond_ascii() -> None:
    assert score(Searchable(key="OPS-2", title="ÄRGER", description=""), search_words("ärger"))


def test_the_best_match_comes_first_then_the_key_and_no_match_not_at_all() -> None:
    weak = Searchable(key="OPS-0", title="Other", description="badge")
    twin = Searchable(key="OPS-00", title="Other", description="badge")
    none = Searchable(key="OPS-9", title="Other", description="")
    assert ranked_keys([none, twin, weak, READER], ("badge",)) == ["OPS-1", "OPS-0", "OPS-00"]
