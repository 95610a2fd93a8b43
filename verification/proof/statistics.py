"""Means with confidence intervals, and bounds on successes by chance."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

_Z_95 = 1.96


def mean(values: Sequence[float]) -> float:
    """Return the mean of at least one value."""
    return sum(values) / len(values)


def confidence_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the normal 95 % confidence interval of the mean.

    With one value, it is unbounded if the value is 0; otherwise it contains only the value.
    """
    middle, n = mean(values), len(values)
    if n == 1:
        return (float("-inf"), float("inf")) if middle == 0 else (middle, middle)
    spread = sqrt(sum((value - middle) ** 2 for value in values) / (n - 1) / n)
    return middle - _Z_95 * spread, middle + _Z_95 * spread


def most_successes(chances: Sequence[float], confidence: float) -> int:
    """Return the smallest number of successes that independent trials do not exceed with this confidence.

    `chances` are the success probabilities of the trials; the number of successes has the exact Poisson binomial
    distribution.
    """
    distribution = [1.0]
    for chance in chances:
        failed, won = [*distribution, 0.0], [0.0, *distribution]
        distribution = [(1 - chance) * one + chance * other for one, other in zip(failed, won, strict=True)]
    cumulated = 0.0
    for successes, probability in enumerate(distribution):
        cumulated += probability
        if cumulated >= confidence:
            return successes
    return len(chances)
