"""Means with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

_Z_95 = 1.96


def mean(values: Sequence[float]) -> float:
    """Return the mean of at least one value."""
    return sum(values) / len(values)


def confidence_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean."""
    middle, n = mean(values), len(values)
    if n == 1:
        return (float("-inf"), float("inf")) if middle == 0 else (middle, middle)
    spread = sqrt(sum((value - middle) ** 2 for value in values) / (n - 1) / n)
    return middle - _Z_95 * spread, middle + _Z_95 * spread
