"""Held-out seeds, names, wordings and version numbers of the splits."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from companyos.contract import Split
from companyos_gateway.engine.reset_request import MAX_DRAWN_SEED
from companyos_gateway.world.policies import format_policy_body
from companyos_gateway.world.pools import pool
from companyos_gateway.world.splits import HELD_OUT, SEEDS, split_of, split_of_seed, texts_for_split
from companyos_shared.streams import Stream
from tests.world.test_generated_company import draw_world

KINDS = ("given", "family", "company_first", "company_second", "vendor_word")
TEXTS = ["a", "b", "c", "d", "e", "f", "g"]


def _usual(kind: str) -> set[str]:
    people, vendors = pool("people"), pool("vendors")
    words: dict[str, Any] = {
        "given": people["given"],
        "family": people["family"],
        "company_first": people["company"]["first"],
        "company_second": people["company"]["second"],
        "vendor_word": vendors["word"],
    }
    return set(words[kind])


def test_a_seed_belongs_to_one_split_and_a_drawn_seed_to_none() -> None:
    for one, other in itertools.combinations(SEEDS.values(), 2):
        assert not set(range(max(one.start, other.start), min(one.stop, other.stop)))
    assert split_of_seed(MAX_DRAWN_SEED) is None
    assert [split_of_seed(seeds.start) for seeds in SEEDS.values()] == list(Split)
    assert [split_of_seed(seeds.stop - 1) for seeds in SEEDS.values()] == list(Split)


def test_the_split_is_parsed_from_the_name_of_the_stream() -> None:
    assert split_of(Stream("a test", SEEDS[Split.TEST].start, "world", "people")) is Split.TEST
    assert split_of(Stream("a test", 7, "world")) is None
    assert split_of(Stream("a test", "world", 7)) is None
    assert split_of(Stream("a test")) is None


@pytest.mark.parametrize("kind", KINDS)
def test_held_out_words_are_unique_across_splits(kind: str) -> None:
    sets = [_usual(kind), *(set(pool("held_out")[split][kind]) for split in HELD_OUT)]
    lists = [pool("held_out")[split][kind] for split in HELD_OUT]
    assert all(len(words) == len(set(words)) for words in lists)
    for one, other in itertools.combinations(sets, 2):
        assert not one & other


def test_held_out_companies_share_no_name_with_any_other() -> None:
    companies = {split: draw_world(SEEDS[split].start, "world") for split in Split} | {None: draw_world(7, "world")}
    names = {
        split: {company.company_name, *(one.name for one in company.staff.people)}
        | {vendor.name.split()[0] for vendor in company.datahub.vendors}
        | {vendor.contact_name for vendor in company.datahub.vendors}
        for split, company in companies.items()
    }
    for held_out in HELD_OUT:
        for other in [split for split in names if split is not held_out]:
            assert not names[held_out] & names[other]


def test_held_out_policies_have_distinct_numbers_and_layouts() -> None:
    companies = {split: draw_world(SEEDS[split].start + 1, "world") for split in Split}
    numbers = {split: {row.version for row in company.datahub.policies} for split, company in companies.items()}
    for one, other in itertools.combinations(numbers.values(), 2):
        assert not one & other
    marks = {split: {row.body[0] for row in company.datahub.policies} for split, company in companies.items()}
    assert (marks[Split.VALIDATION], marks[Split.TEST]) == ({"-"}, {"("})
    assert not marks[Split.TRAIN] & {"-", "("}


def test_a_layout_changes_no_word() -> None:
    body = "An amount up to 2.5 percent is fine. It is paid (see POL-3). Cents count. Nothing else does."
    listed, numbered = format_policy_body(body, Split.VALIDATION), format_policy_body(body, Split.TEST)
    assert format_policy_body(body, None) == format_policy_body(body, Split.TRAIN) == body
    assert [line.removeprefix("- ") for line in listed.splitlines()] == body.replace(". ", ".|").split("|")
    assert " ".join(line.partition(") ")[2] for line in numbered.splitlines()) == body


def test_a_layout_keeps_the_numbers_of_sections() -> None:
    body = "1. Scope\nThis covers orders. It covers no travel.\n\n2. Rules\n2.1 Section 1 applies."
    assert format_policy_body(body, Split.VALIDATION) == (
        "- 1. Scope\n  - This covers orders. It covers no travel.\n- 2. Rules\n  - 2.1 Section 1 applies."
    )
    assert format_policy_body(body, Split.TEST) == (
        "(1) Scope\nThis covers orders. It covers no travel.\n\n(2) Rules\n(2.1) Section 1 applies."
    )


def test_some_texts_are_reserved_for_the_held_out_splits() -> None:
    shares = {split: list(texts_for_split(Stream("a test", SEEDS[split].start), TEXTS)) for split in Split}
    assert shares == {Split.TRAIN: ["a", "b", "c", "d"], Split.VALIDATION: ["e"], Split.TEST: ["f", "g"]}
    assert list(texts_for_split(Stream("a test", 7), TEXTS)) == shares[Split.TRAIN]
