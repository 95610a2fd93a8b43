"""What a set of episodes says: mean return, success with its 95 % interval, pass^k, steps, failures of the house."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import comb, sqrt

from companyos.contract import EpisodeRecord, Outcome

Z_95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


NOTHING_ELSE_CHANGED = "nothing_else_changed"
"""The check of every rubric on rows that had no need to be written."""


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
    trials: tuple[tuple[int, int], ...] = ()
    """For each task how often it succeeded, and how often it was played."""

    def pass_hat(self, k: int) -> float | None:
        """Return pass^k, the chance that k trials of a task all succeed; None where a task has fewer than k.

        It is the mean over tasks of C(c, k) / C(n, k), for c successes in n trials of a task: unbiased for each task
        (tau-bench: Yao et al., 2024, arXiv:2406.12045).
        """
        if any(played < k for _, played in self.trials) or not self.trials:
            return None
        return sum(comb(successes, k) / comb(played, k) for successes, played in self.trials) / len(self.trials)

    @property
    def fewest_trials(self) -> int:
        """How often every task was played at least."""
        return min((played for _, played in self.trials), default=0)

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


def has_side_effects(record: EpisodeRecord) -> bool | None:
    """Say whether an episode left rows changed that had no need to be, or damage; None where no verdict was kept."""
    if record.verdict is None:
        return None
    return bool(record.verdict.damage) or NOTHING_ELSE_CHANGED in record.verdict.failed


def success_interval(records: Sequence[EpisodeRecord]) -> tuple[float, float]:
    """Return the 95 % interval of the share of successes: Wilson's, or a wider one where episodes go together.

    Episodes of one scenario succeed or fail together, and trials of one task even more: the interval is clustered by
    scenario where there are several, else by task where a task has several trials (Miller, 2024).
    """
    trials, successes = len(records), sum(record.success for record in records)
    low, high = wilson_interval(successes, trials)
    clusters = _grouped(records, _scenario)
    if len(clusters) == 1:
        clusters = _grouped(records, task_of)
    if len(clusters) in (1, trials):
        return low, high
    share = successes / trials
    off = [sum(record.success - share for record in cluster) for cluster in clusters]
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
        trials=tuple((sum(one.success for one in task), len(task)) for task in _grouped(records, task_of)),
    )


def task_of(record: EpisodeRecord) -> Hashable:
    """Return what the trials of one task have in common."""
    return record.task_id or (record.scenario, record.seed, record.chaos)


def _scenario(record: EpisodeRecord) -> Hashable:
    return record.scenario


def _grouped(records: Sequence[EpisodeRecord], key: Callable[[EpisodeRecord], Hashable]) -> list[list[EpisodeRecord]]:
    """Return the records in groups, in the order in which the groups begin."""
    groups: dict[Hashable, list[EpisodeRecord]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return list(groups.values())
