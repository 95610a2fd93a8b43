"""Answers that the agent declares with `finish`: numbers compare by value, texts as choices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from companyos_gateway.evaluation.mismatch import Mismatch, format_value
from companyos_shared.choices import same_choice

NUMERIC_TOLERANCE = 1e-9
"""Relative and absolute tolerance for equal numbers; it covers the rounding errors of arithmetic."""

ANSWERS = "finish.answers"

Answer = float | str


def find_wrong_answer(expected: Mapping[str, Answer], submitted: Mapping[str, Any] | None) -> Mismatch | None:
    """Return a mismatch for the first unexpected, missing or wrong answer, None if every answer is right."""
    answers = submitted or {}
    unexpected = sorted(answers.keys() - expected.keys())
    if unexpected:
        return Mismatch(ANSWERS, f"answers to {', '.join(expected)}", f"also {', '.join(unexpected)}")
    for name, value in expected.items():
        given = answers.get(name)
        if not is_same_answer(given, value):
            return Mismatch(ANSWERS, f"{name}: {format_value(value)}", f"{name}: {format_value(given)}")
    return None


def is_same_answer(submitted: Any, expected: Answer) -> bool:
    """Return whether an answer equals the expected one. Numbers compare by value; a string or boolean equals none."""
    if isinstance(expected, str):
        return isinstance(submitted, str) and same_choice(submitted, expected)
    if isinstance(submitted, bool) or not isinstance(submitted, int | float):
        return False
    try:
        return math.isclose(submitted, expected, rel_tol=NUMERIC_TOLERANCE, abs_tol=NUMERIC_TOLERANCE)
    except OverflowError:
        return False
