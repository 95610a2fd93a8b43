"""Checks of the files of a submitted run against each other and against the tasks of its track.

Every fault is one line that starts with the file and the line: `episodes.jsonl:17: ...`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from math import isclose
from pathlib import Path
from typing import Any

from companyos.contract import EpisodeRecord, Outcome, TaskInfo
from companyos.leaderboard.card import CARD, Card
from companyos.leaderboard.tracks import TRACKS
from companyos.leaderboard.usage import usage_faults
from companyos.rescorers import Rescorer
from companyos.runner.rescoring import rescore
from companyos.runner.run_reader import (
    EPISODES,
    EVIDENCE,
    EVIDENCE_SUFFIX,
    MESSAGES,
    RUN,
    TRAJECTORIES,
    RecordLine,
    name_of,
)

_RETURN_TOLERANCE = 1e-6


class StepsError(ValueError):
    """Raised for an invalid trajectory; the text starts with the file, and the line if one is invalid."""


def check_run(folder: Path, card: Card, tasks: Sequence[TaskInfo], lines: Sequence[RecordLine]) -> Iterator[str]:
    """Yield the faults of an unpacked run, given the tasks of its track and the lines of its `episodes.jsonl`."""
    if added := sorted({task.version for task in tasks if "+" in task.version}):
        yield (
            f"{EPISODES}: tasks must be the published ones, but the server's task set {', '.join(added)} has those of "
            "installed packages; uninstall the packages, and play the published tasks again"
        )
        return
    known, trials = {task.id: task for task in tasks}, range(1, TRACKS[card.track].trials + 1)
    policy = next((line.record.policy for line in lines if line.record is not None), "")
    settings, fault = _read_manifest(folder, policy)
    if fault is not None:
        yield fault
    played, files = Counter[tuple[str | None, int]](), set[str]()
    for line in lines:
        at, record = f"{EPISODES}:{line.number}", line.record
        if record is None:
            yield f"{at}: {line.fault}"
            continue
        played[record.task_id, record.trial] += 1
        faults = [*_record_faults(record, known.get(record.task_id or ""), trials, policy)]
        if played[record.task_id, record.trial] > 1:
            faults.append(f"{record.task_id}, trial {record.trial}, is already in an earlier line")
        yield from (f"{at}: {fault}" for fault in faults)
        if not faults:
            name = name_of(record)
            files |= {f"{TRAJECTORIES}/{name}.jsonl", f"{EVIDENCE}/{name}{EVIDENCE_SUFFIX}", f"{MESSAGES}/{name}.jsonl"}
            yield from _episode_faults(folder, record, at, card.model, settings)
    for task in known:
        yield from (f"{EPISODES}: {task}, trial {trial}, is missing" for trial in trials if not played[task, trial])
    yield from _foreign_files(folder, files)


def _read_manifest(folder: Path, policy: str) -> tuple[Mapping[str, Any], str | None]:
    """Return the settings of the policy, and the fault of `run.json`, if any."""
    try:
        manifest = json.loads((folder / RUN).read_bytes())
        played_with, settings = manifest["companyos"], dict(manifest["policies"].get(policy, {}))
    except FileNotFoundError:
        return {}, f"{RUN}: missing"
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return {}, f"{RUN}: {type(error).__name__}: {error}"
    if played_with != version("companyos"):
        return settings, f"{RUN}: companyos must be {version('companyos')!r}; got {played_with!r}"
    return settings, None


def _record_faults(record: EpisodeRecord, task: TaskInfo | None, trials: range, policy: str) -> Iterator[str]:
    """Yield the faults of a single line, given its task of the track."""
    if task is None:
        yield f"task_id must be a task of the track; got {record.task_id!r}"
        return
    expected = {
        "scenario": (record.scenario, task.scenario),
        "chaos": (record.chaos, task.chaos),
        "task_set": (record.task_set, task.version),
        "chaos_overrides": (record.chaos_overrides, {}),
        "policy": (record.policy, policy),
    }
    yield from (f"{name} must be {right!r}; got {got!r}" for name, (got, right) in expected.items() if got != right)
    if record.trial not in trials:
        yield f"trial must be from 1 to {len(trials)}; got {record.trial}"
    if Path(name_of(record)).name != name_of(record) or not record.policy.isprintable():
        yield f"policy must be the name of a policy; got {record.policy!r}"
    if record.outcome is Outcome.INFRA_ERROR:
        yield "outcome is infra_error; delete the line and continue the run with `companyos eval --resume`"
    elif record.verdict is None:
        yield "verdict is missing"
    elif not record.success == record.verdict.success == (record.outcome is Outcome.SUCCESS):
        yield f"success is {record.success}, outcome {record.outcome}, verdict.success {record.verdict.success}"


def _episode_faults(
    folder: Path, record: EpisodeRecord, at: str, model: str | None, settings: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the contradictions between a line, its trajectory and its messages."""
    name = name_of(record)
    file = f"{TRAJECTORIES}/{name}.jsonl"
    try:
        steps = read_steps(folder, file)
    except StepsError as error:
        yield str(error)
        return
    if len(steps) != record.steps:
        yield f"{at}: steps is {record.steps}; {file} has {len(steps)}"
    if not isclose(total := sum(step["reward"] for step in steps), record.return_, abs_tol=_RETURN_TOLERANCE):
        yield f"{at}: return is {record.return_:g}; the rewards in {file} add up to {total:g}"
    used = record.usage.model if record.usage is not None else None
    if used != model:
        yield f"{at}: usage.model must be the model of {CARD}, {model!r}; got {used!r}"
    else:
        found = usage_faults(record.usage, folder / MESSAGES / f"{name}.jsonl", steps, settings)
        yield from (f"{at}: {fault}" for fault in found)


def read_steps(folder: Path, file: str) -> list[dict[str, Any]]:
    """Return the lines of a trajectory of the run. Raises StepsError."""
    try:
        lines = (folder / file).read_bytes().splitlines()
    except OSError as error:
        raise StepsError(f"{file}: {error.strerror}") from None
    steps: list[dict[str, Any]] = []
    for number, text in enumerate(lines, start=1):
        try:
            step = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise StepsError(f"{file}:{number}: {error}") from None
        match step:
            case {"step": _, "tool": str(), "arguments": dict(), "reward": int() | float(), "done": bool()}:
                steps.append(step)
            case _:
                raise StepsError(f"{file}:{number}: must be an object with step, tool, arguments, reward and done")
    return steps


def _foreign_files(folder: Path, files: set[str]) -> Iterator[str]:
    for part in (TRAJECTORIES, EVIDENCE, MESSAGES):
        for file in sorted((folder / part).glob("*")):
            if (name := f"{part}/{file.name}") not in files:
                yield f"{name}: belongs to no valid line of {EPISODES}"


def check_evidence(folder: Path, rescorer: Rescorer, public_keys: Sequence[str]) -> Iterator[str]:
    """Verify the signatures of a run's evidence and rescore it; yield the faults and the differences by line."""
    for number, result in enumerate(rescore(folder, rescorer, public_keys=public_keys), start=1):
        at = f"{EPISODES}:{number}"
        if result.fault is not None:
            yield f"{at}: {result.fault}"
        elif result.differs and result.record is not None and result.new is not None:
            yield f"{at}: success is {result.record.success}; the evidence gives {result.new.success}, or other checks"
