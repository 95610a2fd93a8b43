"""Replay of a submitted run: executes its recorded calls on a new gateway and compares the results.

The same task and the same calls result in the same episode, byte for byte, so a replay does not rely on a signature.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from companyos.contract import EpisodeRecord, Outcome
from companyos.leaderboard.checks import read_steps
from companyos.policies import Call, TaskView
from companyos.runner.episode import EpisodePlan, PlayedEpisode
from companyos.runner.run_reader import (
    EPISODES,
    EVIDENCE,
    TRAJECTORIES,
    RecordLine,
    UnreadableRunError,
    evidence_path,
    name_of,
    read_evidence,
)
from companyos.signed_evidence import SIGNATURE

_NOT_REPLAYED = frozenset({"policy", "trouble", "usage"})
"""Fields of a record that do not depend on the calls."""

_OF_THE_GATEWAY = frozenset({"episode_id", "epoch"})
"""Fields of the state in evidence that differ between gateways."""

_PREFIX = "replay-"


class ReplayPolicy:
    """Policy that repeats the recorded calls of an episode."""

    def __init__(self, name: str, calls: Sequence[tuple[str, dict[str, Any]]]) -> None:
        self.name = name
        self._calls = calls

    async def play(self, task: TaskView, call: Call) -> None:
        """Execute the calls in order."""
        for tool, arguments in self._calls:
            await call(tool, arguments)


class Replay:
    """The episodes of an unpacked run to replay; each has its own policy, `replay-<line>`."""

    def __init__(self, folder: Path, lines: Sequence[RecordLine]) -> None:
        self._folder = folder
        self._records = {line.number: line.record for line in lines if line.record is not None}

    @property
    def plans(self) -> list[EpisodePlan]:
        """The plans of the episodes in the order of the lines."""
        return [
            EpisodePlan(
                scenario=record.scenario,
                chaos=record.chaos,
                task_id=record.task_id,
                trial=record.trial,
                policy=f"{_PREFIX}{number}",
            )
            for number, record in self._records.items()
        ]

    def make_policy(self, name: str) -> ReplayPolicy:
        """Return the policy of a line. Raises StepsError for an unreadable trajectory."""
        record = self._records[_line_of(name)]
        steps = read_steps(self._folder, _trajectory_path(record))
        return ReplayPolicy(name, [(step["tool"], step["arguments"]) for step in steps])

    def faults(self, played: PlayedEpisode, fresh: Path) -> Iterator[str]:
        """Yield the differences between an episode and its replay, whose run is in the folder `fresh`."""
        number = _line_of(played.plan.policy)
        record = self._records[number]
        if played.record.outcome is Outcome.INFRA_ERROR:
            yield f"{EPISODES}:{number}: could not be replayed: {played.record.trouble}"
            return
        yield from _step_faults(self._folder, record, fresh, played.record)
        before, now = record.model_dump(mode="json"), played.record.model_dump(mode="json")
        for name in before:
            if name not in _NOT_REPLAYED and before[name] != now[name]:
                yield f"{EPISODES}:{number}: {_describe(name, before[name], now[name])}"
        if (self._folder / EVIDENCE).is_dir():
            yield from _evidence_faults(self._folder, record, fresh, played.record)


def _line_of(policy: str) -> int:
    return int(policy.removeprefix(_PREFIX))


def _trajectory_path(record: EpisodeRecord) -> str:
    return f"{TRAJECTORIES}/{name_of(record)}.jsonl"


def _describe(name: str, before: object, now: object) -> str:
    if isinstance(before, dict | list) or isinstance(now, dict | list):
        return f"{name} differs from the replay"
    return f"{name} is {json.dumps(before)}; the replay gives {json.dumps(now)}"


def _step_faults(folder: Path, record: EpisodeRecord, fresh: Path, replayed: EpisodeRecord) -> Iterator[str]:
    """Yield the first step that differs from the replay."""
    stored, played = read_steps(folder, _trajectory_path(record)), read_steps(fresh, _trajectory_path(replayed))
    absent: dict[str, Any] = {}
    for number, (before, now) in enumerate(zip_longest(stored, played, fillvalue=absent), start=1):
        if before != now:
            names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
            yield f"{_trajectory_path(record)}:{number}: {', '.join(names)} differ from the replay"
            return


def _evidence_faults(folder: Path, record: EpisodeRecord, fresh: Path, replayed: EpisodeRecord) -> Iterator[str]:
    """Yield the first member of the evidence that differs from the replay."""
    try:
        before, now = _comparable(read_evidence(folder, record)), _comparable(read_evidence(fresh, replayed))
    except (UnreadableRunError, KeyError, TypeError, AttributeError) as error:
        yield f"{evidence_path(record)}: {error}"
        return
    differing = next((name for name in {**before, **now} if before.get(name) != now.get(name)), None)
    if differing is not None:
        yield f"{evidence_path(record)}: {differing} differs from the replay"


def _comparable(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return evidence without its signature and without the values that differ between gateways."""
    kept = {name: value for name, value in evidence.items() if name not in (SIGNATURE, "folder", "changes")}
    kept["state"] = {name: value for name, value in evidence["state"].items() if name not in _OF_THE_GATEWAY}
    kept["changes"] = {service: [_without_folder(one) for one in rows] for service, rows in evidence["changes"].items()}
    return kept


def _without_folder(change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a change with its cause, `<folder>:<epoch>:<step>`, reduced to the step."""
    return {**change, "cause": change["cause"] and change["cause"].rpartition(":")[2]}
