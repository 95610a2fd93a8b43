"""Computes a policy's row from its run on disk, with intervals, overall and by level."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from companyos.contract import EpisodeRecord
from companyos.runner import read_records, summarise
from companyos.runner.plots import Curve, Point, return_points, success_points
from companyos.runner.run_reader import EPISODES, RUN, TRAJECTORIES, name_of
from companyos.runner.statistics import has_side_effects, return_interval, task_of
from companyos_shared.streams import digest

PLANNED_FAULT_STATUSES = frozenset({408, 429})
"""Statuses of planned service faults, which are not the agent's mistakes; all from 500 on are excluded too."""


class InvalidRunError(Exception):
    """Raised if no row can be computed from a run on disk; the message states the reason."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share of episodes or a mean, with its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Level:
    """The results of one chaos level."""

    level: int
    success: Share
    return_: Share


@dataclass(frozen=True, kw_only=True)
class Row:
    """The results of one policy. Shares are in [0, 1]; steps are the mean per episode."""

    name: str
    command: str
    version: str
    task_set: str
    tasks: int
    tasks_digest: str
    """sha256 of the task ids."""

    trials: int
    scenarios: int
    success: Share
    pass_hat: float
    """pass^k, where k is the number of trials."""

    return_: Share
    steps: float
    side_effects: float
    """Share of episodes with a verdict that made an unrelated change or damage."""

    damage: float
    invalid: float
    """Share of calls with an unknown tool or arguments that do not match its schema."""

    refused: float
    """Share of calls that a service refused because of a mistake of the agent."""

    differing: int
    """Number of tasks whose trials differ in any byte."""

    infra_errors: int
    levels: tuple[Level, ...]
    policy_errors: int | None = None
    """Number of episodes in which the policy raised an exception; None for rows of versions that did not count them."""

    @property
    def curve(self) -> Curve:
        """Return the return and success by level, for the plot."""
        return Curve(
            [_point(level.level, level.return_) for level in self.levels],
            [_point(level.level, level.success) for level in self.levels],
        )

    def as_json(self) -> dict[str, Any]:
        """Return the row as JSON."""
        return asdict(self)


def row_of(folder: Path, *, command: str | None = None) -> Row:
    """Return the row of a run on disk. Raises InvalidRunError, and OSError for a missing trajectory.

    `command` defaults to the `companyos eval` command that plays the run.
    """
    if not (folder / EPISODES).exists() or not (folder / RUN).exists():
        raise InvalidRunError(f"{folder} contains no run of `companyos eval --out`")
    records = read_records(folder)
    tasks = _tasks(folder, records)
    summary = summarise(records)
    name, default_command = _named(records, tasks)
    calls, invalid, refused = _calls(folder, records)
    judged = [item for item in map(has_side_effects, records) if item is not None]
    return Row(
        name=name,
        command=command or default_command,
        version=json.loads((folder / RUN).read_text(encoding="utf-8"))["companyos"],
        task_set=next(record.task_set for record in records if record.task_set is not None),
        tasks=len(tasks),
        tasks_digest=digest(sorted(tasks)),
        trials=summary.fewest_trials,
        scenarios=len({record.scenario for record in records}),
        success=Share(mean=summary.success_rate, low=summary.success_low, high=summary.success_high),
        pass_hat=summary.pass_hat(summary.fewest_trials) or 0.0,
        return_=_return(records),
        steps=summary.mean_steps,
        side_effects=sum(judged) / max(1, len(judged)),
        damage=sum(record.verdict is not None and bool(record.verdict.damage) for record in records)
        / max(1, len(judged)),
        invalid=invalid / max(1, calls),
        refused=refused / max(1, calls),
        differing=sum(len({trial.digest for trial in trials}) > 1 for trials in tasks.values()),
        policy_errors=summary.policy_errors,
        infra_errors=summary.infra_errors,
        levels=_levels(records),
    )


def from_json(document: Mapping[str, Any]) -> Row:
    """Parse a row from JSON."""
    shares = {name: Share(**document[name]) for name in ("success", "return_")}
    levels = tuple(
        Level(level=level["level"], success=Share(**level["success"]), return_=Share(**level["return_"]))
        for level in document["levels"]
    )
    return Row(**{**document, **shares, "levels": levels})


def _tasks(folder: Path, records: Sequence[EpisodeRecord]) -> dict[str, list[EpisodeRecord]]:
    """Return the trials of every task. Raises InvalidRunError unless one policy played every task equally often."""
    if not records:
        raise InvalidRunError(f"{folder} contains no episodes")
    if len({entry.policy for entry in records}) > 1:
        raise InvalidRunError(f"{folder} contains several policies; a row needs exactly one")
    if any(one.task_id is None for one in records):
        raise InvalidRunError(f"{folder} contains episodes outside a split; play with --split")
    if len({one.task_set for one in records if one.task_set is not None}) != 1:
        raise InvalidRunError(f"{folder} must contain tasks of exactly one version of the task set")
    tasks: dict[str, list[EpisodeRecord]] = {}
    for record in records:
        tasks.setdefault(str(task_of(record)), []).append(record)
    if len({len(trials) for trials in tasks.values()}) > 1:
        raise InvalidRunError(f"{folder} is incomplete: some tasks have fewer trials; continue with --resume")
    return tasks


def _named(records: Sequence[EpisodeRecord], tasks: Mapping[str, Sequence[EpisodeRecord]]) -> tuple[str, str]:
    """Return a row's name (the model's for a model) and the command that plays its run."""
    policy, usage = records[0].policy, records[0].usage
    model_option = f" --model {usage.model}" if usage is not None else ""
    trials = len(next(iter(tasks.values())))
    split = str(records[0].task_id).partition(".")[0]
    command = f"companyos eval --policy {policy}{model_option} --split {split} -n {len(tasks)} --trials {trials}"
    return policy if usage is None else f"{policy}: {usage.model}", command


def _calls(folder: Path, records: Sequence[EpisodeRecord]) -> tuple[int, int, int]:
    """Return the numbers of all, invalid and refused calls."""
    calls = invalid = refused = 0
    for line in _lines(folder, records):
        calls += 1
        if line["error"] is not None:
            invalid += 1
        elif _is_refused(line["result"]):
            refused += 1
    return calls, invalid, refused


def _lines(folder: Path, records: Sequence[EpisodeRecord]) -> Iterator[dict[str, Any]]:
    for record in records:
        with (folder / TRAJECTORIES / f"{name_of(record)}.jsonl").open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _is_refused(result: Any) -> bool:
    match result:
        case {"retry_after_s": int()}:  # an outage
            return False
        case {"status": int(status), "code": str(), "title": str()}:
            return 400 <= status < 500 and status not in PLANNED_FAULT_STATUSES
        case _:
            return False


def _levels(records: Sequence[EpisodeRecord]) -> tuple[Level, ...]:
    pairs = zip(success_points(records), return_points(records), strict=True)
    return tuple(Level(level=won.level, success=_share(won), return_=_share(paid)) for won, paid in pairs)


def _return(records: Sequence[EpisodeRecord]) -> Share:
    low, high = return_interval(records)
    return Share(mean=sum(record.return_ for record in records) / len(records), low=low, high=high)


def _share(point: Point) -> Share:
    return Share(mean=point.mean, low=point.low, high=point.high)


def _point(level: int, share: Share) -> Point:
    return Point(level=level, mean=share.mean, low=share.low, high=share.high)
