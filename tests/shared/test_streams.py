"""Named streams: pure functions of their names."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companyos_shared.streams import Stream, canonical_json, digest

_SCRIPT = (
    "from companyos_shared.streams import Stream; "
    "s = Stream(7, 'people', 'x'); print([s.integer(0, 999) for _ in range(9)])"
)


def test_a_stream_draws_the_same_in_processes_with_other_hash_seeds() -> None:
    drawn = {
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed, zone in (("0", "UTC"), ("1", "Asia/Tokyo"), ("77", "America/Lima"))
    }
    stream = Stream(7, "people", "x")
    assert drawn == {f"{[stream.integer(0, 999) for _ in range(9)]}\n"}


def test_a_child_stream_does_not_depend_on_draws_of_its_parent() -> None:
    fresh, used = Stream("a"), Stream("a")
    used.integer(1, 6)
    assert fresh.child("b").fraction() == used.child("b").fraction() == Stream("a", "b").fraction()


def test_parts_of_a_name_are_not_concatenated_ambiguously() -> None:
    assert Stream("ab", "c").fraction() != Stream("a", "bc").fraction()


@given(st.integers(-50, 50), st.integers(0, 99), st.text())
def test_an_integer_is_in_its_range(low: int, width: int, name: str) -> None:
    assert low <= Stream(name).integer(low, low + width) <= low + width


def test_a_die_is_fair() -> None:
    stream = Stream("die")
    counts = [0] * 6
    for _ in range(60_000):
        counts[stream.integer(0, 5)] += 1
    assert sum((count - 10_000) ** 2 / 10_000 for count in counts) < 20.5  # chi-square, 5 degrees, p = 0.001


@given(st.lists(st.integers(), max_size=20), st.text())
def test_a_shuffle_is_a_permutation(items: list[int], name: str) -> None:
    assert sorted(Stream(name).shuffled(items)) == sorted(items)


@given(st.integers(-50, 50), st.integers(0, 30), st.data(), st.text())
def test_distinct_integers_are_in_their_range_and_unique(low: int, width: int, data: st.DataObject, name: str) -> None:
    count = data.draw(st.integers(0, width + 1))
    drawn = Stream(name).distinct(low, low + width, count)
    assert len(set(drawn)) == len(drawn) == count
    assert all(low <= one <= low + width for one in drawn)


def test_weights_of_zero_are_never_drawn() -> None:
    stream = Stream("weights")
    assert {stream.weighted([("a", 0), ("b", 3), ("c", 0)]) for _ in range(100)} == {"b"}


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda s: s.integer(2, 1), "low must be at most high"),
        (lambda s: s.sample([1], 2), "count must be at most 1"),
        (lambda s: s.distinct(1, 2, 3), "count must be at most 2"),
    ],
)
def test_an_impossible_draw_is_an_error(draw: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw(Stream("x"))  # type: ignore[operator]


def test_a_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": [2, {"c": None}]}) == digest({"b": [2, {"c": None}], "a": 1})
    assert canonical_json({"b": "é", "a": 1.0}) == '{"a":1.0,"b":"é"}'.encode()


def test_a_number_that_is_not_json_has_no_digest() -> None:
    with pytest.raises(ValueError, match="JSON"):
        digest(float("nan"))
