"""Text search: words, prefixes and ranking."""

from __future__ import annotations

import pytest

from companyos_shared.framework import QueryBlankError, Searchable, search


def found(query: str | None, *rows: Searchable) -> list[str]:
    return [row.id for row in search(rows, query, lambda row: row)]


def test_a_word_inside_another_word_does_not_match() -> None:
    specialist = Searchable("E-1", "Ana Costa", "Payables Specialist")
    assert found("Ali", specialist, Searchable("E-2", "Ali Demir", "Clerk")) == ["E-2"]


@pytest.mark.parametrize("query", ["special", "PAYABLES spec", "payables specialist", "costa,"])
def test_the_start_of_a_word_matches_in_any_case(query: str) -> None:
    assert found(query, Searchable("E-1", "Ana Costa", "Payables Specialist")) == ["E-1"]


@pytest.mark.parametrize("query", ["muller", "MÜLLER", "müll"])
def test_accents_are_ignored(query: str) -> None:
    assert found(query, Searchable("E-1", "Jana Müller", "")) == ["E-1"]


def test_rows_with_all_words_are_ranked_before_rows_with_some() -> None:
    in_title = Searchable("A", "Nordwind", "")
    in_text = Searchable("B", "Lease", "nordwind logistik")
    assert found("Nordwind Logistik", in_title, in_text) == ["B", "A"]


def test_a_match_in_the_title_is_ranked_before_one_in_the_text() -> None:
    assert found("nordwind", Searchable("A", "Lease", "nordwind"), Searchable("B", "Nordwind", "")) == ["B", "A"]


def test_a_complete_word_is_ranked_before_the_start_of_a_word() -> None:
    assert found("OPS-1", Searchable("OPS-10", "Lamp", ""), Searchable("OPS-1", "Chair", "")) == ["OPS-1", "OPS-10"]


def test_rows_of_equal_rank_are_ordered_by_id() -> None:
    rows = [Searchable(name, "Badge reader", "") for name in ("C", "A", "B")]
    assert found("badge", *rows) == ["A", "B", "C"]


def test_the_parts_of_a_compound_word_must_be_adjacent() -> None:
    assert found("PO-3311", Searchable("A", "PO 12", "3311"), Searchable("B", "Receipt", "For PO-3311.")) == ["B"]


def test_a_part_of_a_compound_word_matches() -> None:
    row = Searchable("MET-1", "Score", "compliance_score north-west Bluepeak's")
    assert [found(word, row) for word in ("score", "west", "bluepeak")] == [["MET-1"]] * 3


def test_an_email_address_is_one_word() -> None:
    row = Searchable("E-1", "Mara Lindqvist", "mara.lindqvist@halvorsen.example")
    assert found("Mara.Lindqvist@halvorsen.example", row) == ["E-1"]
    assert found("halvorsen", row) == []


def test_without_a_query_all_rows_are_ordered_by_id() -> None:
    assert found(None, Searchable("B", "", ""), Searchable("A", "", "")) == ["A", "B"]


@pytest.mark.parametrize("query", ["", "  ", "?!", "a", "- -", "% _ '"])
def test_a_query_without_words_is_rejected(query: str) -> None:
    with pytest.raises(QueryBlankError, match="query must contain a word of at least 2 characters; got"):
        search([], query, lambda row: row)
