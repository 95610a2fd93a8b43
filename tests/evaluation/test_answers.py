"""Answers are compared by value: numbers as numbers, text exactly."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_gateway.evaluation.answers import find_wrong_answer, is_same_answer


@pytest.mark.parametrize("given", [85, 85.0, 85 + 1e-12])
def test_numbers_are_compared_by_value(given: float) -> None:
    assert is_same_answer(given, 85.0)


@pytest.mark.parametrize("given", ["85", True, None, 84, 85.5, float("nan"), float("inf"), 10**400, [85], {"x": 85}])
def test_a_similar_value_is_not_the_same_answer(given: Any) -> None:
    assert not is_same_answer(given, 85.0)


@pytest.mark.parametrize("given", ["ven-1", " VEN-1", "VEN-1 ", 1, None, True])
def test_text_must_match_exactly(given: Any) -> None:
    assert is_same_answer("VEN-1", "VEN-1")
    assert not is_same_answer(given, "VEN-1")


def test_one_is_not_the_same_as_true() -> None:
    assert not is_same_answer(True, 1.0)


def test_exactly_the_questions_must_be_answered() -> None:
    expected: dict[str, float | str] = {"rate": 30.0, "who": "checkout"}

    def holds(**answers: Any) -> bool:
        return find_wrong_answer(expected, answers) is None

    assert holds(rate=30, who="checkout")
    assert not holds(rate=30)
    assert not holds(rate=31, who="checkout")
    assert not holds(rate=30, who="checkout", more=1)
    assert find_wrong_answer(expected, None) is not None
