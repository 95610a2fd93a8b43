"""What a set of episodes says: mean return, success with its 95 % interval, pass^k, steps, failures of the house."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, sqrt

from companyos.contract import EpisodeRecord, Outcome

Z_95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


PASSES = (1, 2, 4, 8)
"""The k of pass^k: how likely so many episodes in a row succeed."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The figures of one policy. Episodes that ended as `infra_error` stay in every denominator."""

    policy: str
    episodes: int
    successes: int
    success_low: float
    success_high: float
    mean_return: float
    mean_steps: float
    infra_errors: int

    def pass_hat(self, k: int) -> float | None:
        """Return pass^k = C(successes, k) / C(episodes, k), None where there are fewer than k episodes."""
        return comb(self.successes, k) / comb(self.episodes, k) if k <= self.episodes else None

    @property
    def success_rate(self) -> float:
        """The share of episodes that succeeded, in [0, 1]."""
        return self.successes / self.episodes


def wilson_interval(successes: int, trials: int, z: float = Z_95) -> tuple[float, float]:
    """Return the Wilson score interval of a share (Wilson, 1927), within [0, 1]."""
    if not 0 <= successes <= trials or trials == 0:
        raise ValueError(f"{successes} of {trials} is no share")
    share = successes / trials
    scale = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    half = z / scale * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == trials else centre + half
    return low, high


def success_interval(records: Sequence[EpisodeRecord]) -> tuple[float, float]:
    """Return the 95 % interval of the share of successes: Wilson's, or clustered by scenario where there are several.

    Episodes of one scenario succeed or fail together, which widens the interval (Miller, 2024).
    """
    trials, successes = len(records), sum(record.success for record in records)
    low, high = wilson_interval(successes, trials)
    scenarios = {record.scenario for record in records}
    if len(scenarios) == 1:
        return low, high
    share = successes / trials
    off = [sum(record.success - share for record in records if record.scenario == name) for name in scenarios]
    half = Z_95 * sqrt(sum(one * one for one in off)) / trials
    return min(low, max(0.0, share - half)), max(high, min(1.0, share + half))


def summarise(records: Sequence[EpisodeRecord]) -> Summary:
    """Return the figures of episodes of one policy. Raises ValueError when there are none, or of several policies."""
    policies = sorted({record.policy for record in records})
    if len(policies) != 1:
        raise ValueError(f"one policy is summarised at a time, not {len(policies)}")
    successes = sum(record.success for record in records)
    low, high = success_interval(records)
    return Summary(
        policy=policies[0],
        episodes=len(records),
        successes=successes,
        success_low=low,
        success_high=high,
        mean_return=sum(record.return_ for record in records) / len(records),
        mean_steps=sum(record.steps for record in records) / len(records),
        infra_errors=sum(record.outcome is Outcome.INFRA_ERROR for record in records),
    )
