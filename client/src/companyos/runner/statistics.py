"""Statistics of episodes: mean return, success with 95 % interval, pass^k, steps and infrastructure errors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import comb, sqrt
from statistics import fmean

from companyos.contract import EpisodeRecord, Outcome

Z_95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


NOTHING_ELSE_CHANGED = "nothing_else_changed"
"""Check of every rubric for unnecessary row changes."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Statistics of one policy. Episodes with outcome `infra_error` stay in every denominator."""

    policy: str
    episodes: int
    successes: int
    success_low: float
    success_high: float
    mean_return: float
    mean_steps: float
    infra_errors: int
    policy_errors: int
    """Episodes in which the policy raised an exception."""

    trials: tuple[tuple[int, int], ...] = ()
    """Successes and trials of each task."""

    def pass_hat(self, k: int) -> float | None:
        """Return pass^k, the probability that k trials of a task all succeed; None if a task has fewer than k trials.

        It is the mean over tasks of C(c, k) / C(n, k), for c successes in n trials of a task, which is unbiased per
        task (tau-bench: Yao et al., 2024, arXiv:2406.12045).
        """
        if self.fewest_trials < k:
            return None
        return sum(comb(successes, k) / comb(played, k) for successes, played in self.trials) / len(self.trials)

    def pass_at(self, k: int) -> float | None:
        """Return pass@k, the probability that one of k trials of a task succeeds; None if a task has fewer trials.

        It is the mean over tasks of 1 - C(n - c, k) / C(n, k) (Chen et al., 2021, arXiv:2107.03374).
        """
        if self.fewest_trials < k:
            return None
        shares = [1 - comb(played - successes, k) / comb(played, k) for successes, played in self.trials]
        return sum(shares) / len(shares)

    @property
    def fewest_trials(self) -> int:
        """Smallest number of trials of a task."""
        return min((played for _, played in self.trials), default=0)

    @property
    def success_rate(self) -> float:
        """Fraction of successful episodes, in [0, 1]."""
        return self.successes / self.episodes


def pass_ks(trials: int) -> list[int]:
    """Return the values of k in pass@k and pass^k for a number of trials: powers of two, and the number itself."""
    return sorted({k for k in (2, 4, 8, 16, trials) if 1 < k <= trials})


def wilson_interval(successes: float, trials: int) -> tuple[float, float]:
    """Return the Wilson score 95 % interval of a fraction (Wilson, 1927), in [0, 1]; successes may be fractional."""
    if not 0 <= successes <= trials or trials == 0:
        raise ValueError(f"successes must be between 0 and trials; got {successes} of {trials}")
    share, z = successes / trials, Z_95
    scale = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    half = z / scale * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == trials else centre + half
    return low, high


def has_side_effects(record: EpisodeRecord) -> bool | None:
    """Return whether an episode caused unnecessary changes or damage; None without a verdict."""
    if record.verdict is None:
        return None
    return bool(record.verdict.damage) or NOTHING_ELSE_CHANGED in record.verdict.failed


def has_policy_error(record: EpisodeRecord) -> bool:
    """Return whether the policy raised an exception, which ended the episode as a failure."""
    return record.trouble is not None and record.outcome is not Outcome.INFRA_ERROR


def success_interval(records: Sequence[EpisodeRecord]) -> tuple[float, float]:
    """Return the 95 % interval of the success rate: Wilson's over tasks, or a wider one clustered by scenario.

    With several tasks, each task counts once, with the fraction of its successful trials, because trials of one task
    are correlated. Tasks of one scenario are correlated as well: with several scenarios, the interval is clustered by
    scenario if that is wider (Miller, 2024, arXiv:2411.00640).
    """
    trials, successes = len(records), sum(record.success for record in records)
    tasks = len(_units(records))
    low, high = wilson_interval(successes * tasks / trials, tasks)
    half = half_width([[float(record.success) for record in cluster] for cluster in _clusters(records)])
    share = successes / trials
    return min(low, max(0.0, share - half)), max(high, min(1.0, share + half))


def return_interval(records: Sequence[EpisodeRecord]) -> tuple[float, float]:
    """Return the normal 95 % interval of the mean return: over tasks, or clustered by scenario if that is wider."""
    mean = sum(record.return_ for record in records) / len(records)
    groupings = (_units(records), _clusters(records))
    half = max(half_width([[record.return_ for record in group] for group in grouping]) for grouping in groupings)
    return mean - half, mean + half


def summarise(records: Sequence[EpisodeRecord]) -> Summary:
    """Return the statistics of one policy's episodes. Raises ValueError for no episodes or several policies."""
    policies = sorted({record.policy for record in records})
    if len(policies) != 1:
        raise ValueError(f"the records must belong to one policy; got {len(policies)}")
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
        policy_errors=sum(has_policy_error(record) for record in records),
        trials=tuple((sum(record.success for record in task), len(task)) for task in grouped(records, task_of)),
    )


def task_of(record: EpisodeRecord) -> Hashable:
    """Return the key that the trials of one task share."""
    return record.task_id or (record.scenario, record.seed, record.chaos)


def _units(records: Sequence[EpisodeRecord]) -> list[list[EpisodeRecord]]:
    """Return the sampling units: tasks, or trials if there is only one task."""
    tasks = grouped(records, task_of)
    return tasks if len(tasks) > 1 else [[record] for record in records]


def _clusters(records: Sequence[EpisodeRecord]) -> list[list[EpisodeRecord]]:
    """Return the clusters: episodes by scenario, or by task if there is only one scenario."""
    scenarios = grouped(records, _scenario)
    return scenarios if len(scenarios) > 1 else grouped(records, task_of)


def half_width(clusters: Sequence[Sequence[float]]) -> float:
    """Return the half width of the normal 95 % interval of a clustered mean; 0 for one cluster.

    The variance is corrected by G / (G - 1) for G clusters.
    """
    count = len(clusters)
    if count == 1:
        return 0.0
    values = sum(map(len, clusters))
    mean = sum(map(sum, clusters)) / values
    off = [sum(value - mean for value in cluster) for cluster in clusters]
    return Z_95 * sqrt(sum(value * value for value in off) * count / (count - 1)) / values


def _scenario(record: EpisodeRecord) -> Hashable:
    return record.scenario


def grouped(records: Sequence[EpisodeRecord], key: Callable[[EpisodeRecord], Hashable]) -> list[list[EpisodeRecord]]:
    """Return the records in groups, in order of first occurrence."""
    groups: dict[Hashable, list[EpisodeRecord]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return list(groups.values())


@dataclass(frozen=True, kw_only=True)
class UsageTotals:
    """Usage totals of episodes; the cost is None if one episode has none."""

    model: str
    episodes: int
    requests: int
    retries: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    unmetered: int
    latency_s: float
    cost: float | None
    gave_up: int
    dropped_results: int
    dropped_turns: int
    first_drop: int | None
    """Number of the earliest request before which messages were dropped from the context."""


def usage_totals(records: Sequence[EpisodeRecord]) -> list[UsageTotals]:
    """Return the totals of each model in order of first occurrence."""
    accounts = [record.usage for record in records if record.usage is not None]
    totals = []
    for model in dict.fromkeys(account.model for account in accounts):
        own = [account for account in accounts if account.model == model]
        costs = [account.cost for account in own if account.cost is not None]
        totals.append(
            UsageTotals(
                model=model,
                episodes=len(own),
                requests=sum(account.requests for account in own),
                retries=sum(account.retries for account in own),
                prompt_tokens=sum(account.prompt_tokens for account in own),
                completion_tokens=sum(account.completion_tokens for account in own),
                cached_tokens=sum(account.cached_tokens for account in own),
                cache_write_tokens=sum(account.cache_write_tokens for account in own),
                reasoning_tokens=sum(account.reasoning_tokens for account in own),
                unmetered=sum(account.unmetered for account in own),
                latency_s=sum(account.latency_s for account in own),
                cost=sum(costs) if len(costs) == len(own) else None,
                gave_up=sum(account.stopped is not None for account in own),
                dropped_results=sum(account.dropped_results for account in own),
                dropped_turns=sum(account.dropped_turns for account in own),
                first_drop=min((one.first_drop for one in own if one.first_drop is not None), default=None),
            )
        )
    return totals


def steps_ratio(records: Iterable[EpisodeRecord], reference: Iterable[EpisodeRecord]) -> float | None:
    """Return the steps of successful episodes relative to those of the reference on the same seeds and chaos levels.

    Only episodes in which both succeeded count, with the mean of the reference's trials; None if there is no such pair.
    """
    by_task: dict[Hashable, list[int]] = {}
    for one in reference:
        if one.success:
            by_task.setdefault((one.scenario, one.seed, one.chaos), []).append(one.steps)
    pairs = [
        (one.steps, fmean(by_task[task]))
        for one in records
        if one.success and (task := (one.scenario, one.seed, one.chaos)) in by_task
    ]
    steps, reference_steps = (sum(column) for column in zip(*pairs, strict=True)) if pairs else (0, 0)
    return steps / reference_steps if reference_steps else None
