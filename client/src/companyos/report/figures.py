"""The figures of a report on runs: success by group, the reasons for failures, usage, and paired comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import comb

from pydantic import BaseModel, ConfigDict, Field

from companyos.contract import SHIFT_PREFIX, CompanySize, EpisodeRecord, split_company_size
from companyos.runner.run_reader import name_of
from companyos.runner.statistics import (
    UsageTotals,
    grouped,
    half_width,
    has_policy_error,
    pass_ks,
    steps_ratio,
    success_interval,
    summarise,
    task_of,
    usage_totals,
)

EXAMPLES = 3
"""Maximum number of example episodes of a reason for failures."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Success(_Part):
    """Success of the episodes of a group, with its 95 % interval."""

    group: str
    episodes: int = Field(ge=1)
    successes: int = Field(ge=0)
    low: float = Field(ge=0, le=1)
    high: float = Field(ge=0, le=1)
    mean_return: float
    partial_credit: float | None = Field(description="Mean share of the goals that were met; null without verdicts.")

    @property
    def rate(self) -> float:
        """Share of successful episodes."""
        return self.successes / self.episodes


class Example(_Part):
    """An episode that failed for a reason, and the step that decided it."""

    run: str
    episode: str
    step: int = Field(ge=0, description="The last step of the episode if something was never done.")
    why: str


class Failure(_Part):
    """A reason for failures: the check that was the primary failure, else the outcome or `policy_error`."""

    reason: str
    episodes: int = Field(ge=1)
    scenarios: dict[str, int] = Field(description="Episodes by scenario, the most frequent first.")
    examples: tuple[Example, ...]


class Scores(_Part):
    """Partial credit, and counts of faults, injections and side effects."""

    partial_credit: float = Field(description="Mean share of the goals that were met.")
    affected_calls: int
    faults_recovered: int
    injections: int
    injections_resisted: int
    duplicates: int
    collateral_changes: int
    refused_approvers: int


class Subject(_Part):
    """A policy in a run."""

    run: str
    policy: str
    label: str = Field(description="Name in the tables: the policy, the run, or both, whatever differs.")
    total: Success
    mean_steps: float
    infra_errors: int
    policy_errors: int
    trials: int = Field(description="The least number of trials of a task.")
    pass_at: dict[int, float] = Field(description="Probability that one of k trials succeeds.")
    pass_hat: dict[int, float] = Field(description="Probability that k trials all succeed.")
    groups: dict[str, tuple[Success, ...]] = Field(description="Success by scenario, level, size and fault.")
    failures: tuple[Failure, ...] = Field(description="The most frequent first.")
    scores: Scores | None = Field(description="Null without verdicts.")
    usage: tuple[UsageTotals, ...]


class Comparison(_Part):
    """Comparison of two subjects on the tasks that both played.

    The score of a task is the share of its successful trials.
    """

    first: str
    second: str
    tasks: int = Field(ge=1)
    only_first: int = Field(description="Tasks that the first solved more often.")
    only_second: int = Field(description="Tasks that the second solved more often.")
    difference: float = Field(description="Success of the second less that of the first.")
    low: float
    high: float
    p_value: float = Field(description="Two-sided sign test over the tasks with a difference.")
    steps_ratio: float | None = Field(
        description="Steps of the second relative to the first, on the tasks that both solved; null if there are none."
    )


class Report(_Part):
    """A report on runs."""

    subjects: tuple[Subject, ...]
    comparisons: tuple[Comparison, ...] = Field(description="The first subject with each of the others.")
    faults: tuple[str, ...] = Field(description="Records that could not be read: run, line and reason.")


GROUPINGS: Mapping[str, Callable[[EpisodeRecord], Iterable[str]]] = {
    "scenario": lambda record: [split_company_size(record.scenario)[0]],
    "chaos level": lambda record: [str(record.chaos)],
    "size": lambda record: [size_of(record)],
    "fault or friction": lambda record: sorted(affecting_kinds(record)) or ["none"],
}
"""Groupings by name: functions that return the groups of an episode. An episode counts in each of its groups."""


def build_report(runs: Mapping[str, Sequence[EpisodeRecord]], faults: Sequence[str] = ()) -> Report:
    """Return the report on runs, given the records of each. Raises ValueError for runs without records."""
    played: dict[tuple[str, str], list[EpisodeRecord]] = {}
    for run, records in runs.items():
        for record in records:
            played.setdefault((run, record.policy), []).append(record)
    if not played:
        raise ValueError("the runs have no episodes")
    subjects = [_subject(*key, label, played[key]) for key, label in _labels(played).items()]
    (first, reference), *others = zip(subjects, played.values(), strict=True)
    compared = [_compare(first.label, reference, one.label, records) for one, records in others]
    return Report(
        subjects=tuple(subjects),
        comparisons=tuple(one for one in compared if one is not None),
        faults=tuple(faults),
    )


def size_of(record: EpisodeRecord) -> str:
    """Return a label for the size of an episode: single task or shift, and the company's size unless it is small."""
    name, company = split_company_size(record.scenario)
    case = name.removeprefix(SHIFT_PREFIX) if name.startswith(SHIFT_PREFIX) else "single task"
    size = "shift of named scenarios" if "-" in case or "_" in case else case
    return size if company is CompanySize.SMALL else f"{size}, {company} company"


def affecting_kinds(record: EpisodeRecord) -> set[str]:
    """Return the kinds of chaos that affected an episode.

    Injections that only have a rate are excluded unless a call was affected, since they may not have occurred.
    """
    planned = {one.kind for one in record.injections or [] if set(one.detail) != {"rate"}}
    return planned | set(record.scorecard.faults if record.scorecard is not None else ())


def _labels(keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the label of each policy in a run: the policy, the run, or both, whatever differs."""
    keys = list(keys)
    if len({run for run, _ in keys}) == 1:
        return {key: key[1] for key in keys}
    is_one_policy = len({policy for _, policy in keys}) == 1
    return {key: key[0] if is_one_policy else f"{key[0]}: {key[1]}" for key in keys}


def _subject(run: str, policy: str, label: str, records: Sequence[EpisodeRecord]) -> Subject:
    summary = summarise(records)
    ks = pass_ks(summary.fewest_trials)
    return Subject(
        run=run,
        policy=policy,
        label=label,
        total=_success("all", records),
        mean_steps=summary.mean_steps,
        infra_errors=summary.infra_errors,
        policy_errors=summary.policy_errors,
        trials=summary.fewest_trials,
        pass_at={k: share for k in ks if (share := summary.pass_at(k)) is not None},
        pass_hat={k: share for k in ks if (share := summary.pass_hat(k)) is not None},
        groups={name: _grouped(records, keys) for name, keys in GROUPINGS.items()},
        failures=_failures(run, records),
        scores=scores_of(records),
        usage=tuple(usage_totals(records)),
    )


def _success(group: str, records: Sequence[EpisodeRecord]) -> Success:
    low, high = success_interval(records)
    scores = scores_of(records)
    return Success(
        group=group,
        episodes=len(records),
        successes=sum(one.success for one in records),
        low=low,
        high=high,
        mean_return=sum(one.return_ for one in records) / len(records),
        partial_credit=None if scores is None else scores.partial_credit,
    )


def _grouped(records: Sequence[EpisodeRecord], keys: Callable[[EpisodeRecord], Iterable[str]]) -> tuple[Success, ...]:
    groups: dict[str, list[EpisodeRecord]] = {}
    for record in records:
        for key in keys(record):
            groups.setdefault(key, []).append(record)
    return tuple(_success(key, groups[key]) for key in sorted(groups))


def _failures(run: str, records: Sequence[EpisodeRecord]) -> tuple[Failure, ...]:
    found: dict[str, list[tuple[str, Example]]] = {}
    for record in records:
        if not record.success:
            reason, example = _why(run, record)
            found.setdefault(reason, []).append((split_company_size(record.scenario)[0], example))
    return tuple(
        Failure(
            reason=reason,
            episodes=len(examples),
            scenarios=dict(Counter(scenario for scenario, _ in examples).most_common()),
            examples=tuple(example for _, example in examples[:EXAMPLES]),
        )
        for reason, examples in sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))
    )


def _why(run: str, record: EpisodeRecord) -> tuple[str, Example]:
    """Return the reason why an episode failed, and the episode as an example of it."""
    verdict, step = record.verdict, record.steps
    check = next((one for one in verdict.checks if one.id == verdict.primary_failure), None) if verdict else None
    if record.trouble is not None or check is None:
        reason = "policy_error" if has_policy_error(record) else str(record.outcome)
        return reason, Example(run=run, episode=name_of(record), step=step, why=record.trouble or str(record.outcome))
    why = check.reason or "no reason was stored"
    step = step if check.step is None else check.step
    return check.id.rpartition(":")[2], Example(run=run, episode=name_of(record), step=step, why=why)


def scores_of(records: Sequence[EpisodeRecord]) -> Scores | None:
    """Return partial credit and the counts of faults, injections and side effects; None without scorecards."""
    cards = [one.scorecard for one in records if one.scorecard is not None]
    if not cards:
        return None
    faults = [card.count_faults() for card in cards]
    injected = [card.resisted_injection for card in cards if card.resisted_injection is not None]
    return Scores(
        partial_credit=sum(card.partial_credit for card in cards) / len(cards),
        affected_calls=sum(affected for affected, _ in faults),
        faults_recovered=sum(recovered for _, recovered in faults),
        injections=len(injected),
        injections_resisted=sum(injected),
        duplicates=sum(card.duplicates for card in cards),
        collateral_changes=sum(card.collateral_changes for card in cards),
        refused_approvers=sum(card.refused_approvers for card in cards),
    )


def _compare(
    first: str, reference: Sequence[EpisodeRecord], second: str, records: Sequence[EpisodeRecord]
) -> Comparison | None:
    """Compare two subjects on the tasks that both played; return None if there are none.

    Tasks of different revisions of the task set are different tasks. The interval is the normal 95 % interval of the
    mean of paired differences, clustered by scenario if that is wider.
    """
    tasks, others = (
        {task_of(trials[0]): trials for trials in grouped(played, task_of)} for played in (reference, records)
    )
    shared = [task for task in tasks if task in others and len(_revisions([*tasks[task], *others[task]])) < 2]
    by_scenario: dict[str, list[float]] = {}
    for task in shared:
        difference = _success_share(others[task]) - _success_share(tasks[task])
        by_scenario.setdefault(tasks[task][0].scenario, []).append(difference)
    differences = [one for group in by_scenario.values() for one in group]
    count = len(differences)
    if not count:
        return None
    mean = sum(differences) / count
    half = max(half_width([[one] for one in differences]), half_width([*by_scenario.values()]))
    worse, better = sum(one < 0 for one in differences), sum(one > 0 for one in differences)
    return Comparison(
        first=first,
        second=second,
        tasks=count,
        only_first=worse,
        only_second=better,
        difference=mean,
        low=max(-1.0, mean - half),
        high=min(1.0, mean + half),
        p_value=sign_test(worse, better),
        steps_ratio=steps_ratio(
            [one for task in shared for one in others[task]], [one for task in shared for one in tasks[task]]
        ),
    )


def _success_share(trials: Sequence[EpisodeRecord]) -> float:
    return sum(one.success for one in trials) / len(trials)


def _revisions(records: Sequence[EpisodeRecord]) -> set[str]:
    """Return the revisions of the task sets that the episodes belong to: "2" of the version "2.21.dc0d3999"."""
    return {one.task_set.partition(".")[0] for one in records if one.task_set is not None}


def sign_test(worse: int, better: int) -> float:
    """Return the two-sided p-value of a sign test: the probability that fair coin tosses split at least as unevenly."""
    tosses, fewer = worse + better, min(worse, better)
    tail: float = sum(comb(tosses, count) for count in range(fewer + 1)) / 2**tosses
    return min(1.0, 2 * tail)
