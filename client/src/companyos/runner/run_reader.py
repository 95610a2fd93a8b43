"""Reads the folder of a run: file names, records and evidence."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from companyos.contract import EpisodeRecord
from companyos.errors import first_validation_error
from companyos.signed_evidence import SIGNATURE, BrokenEvidenceError, check_canonical

RUN = "run.json"
EPISODES = "episodes.jsonl"
NEW_EPISODES = "episodes.jsonl.new"
TRAJECTORIES = "trajectories"
EVIDENCE = "evidence"
MESSAGES = "messages"
EVIDENCE_SUFFIX = ".json.gz"
MAX_EVIDENCE_BYTES = 256 * 1024**2
"""Maximum size of an episode's unpacked evidence."""


class UnreadableRunError(ValueError):
    """Raised for an invalid file of a run; the text contains the file and the reason."""


def planned_episodes(folder: Path) -> int | None:
    """Return the number of episodes that a run was started for, None if it is not known."""
    try:
        count = json.loads((folder / RUN).read_bytes())["episodes"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return count if isinstance(count, int) else None


@dataclass(frozen=True)
class RecordLine:
    """A line of `episodes.jsonl`: the record, or the reason why it is invalid."""

    number: int
    record: EpisodeRecord | None
    fault: str | None = None


def episode_name(scenario: str, seed: int | None, chaos: int, policy: str, task_id: str | None, trial: int) -> str:
    """Return the file name of an episode without suffix; the seed of a task may be unknown."""
    task = f"{scenario}-{seed}-c{chaos}" if task_id is None else task_id
    return f"{task}-{policy}" if trial == 1 else f"{task}-{policy}-t{trial}"


def name_of(record: EpisodeRecord) -> str:
    """Return the file name of a record's episode without suffix."""
    return episode_name(record.scenario, record.seed, record.chaos, record.policy, record.task_id, record.trial)


def read_records(folder: Path) -> list[EpisodeRecord]:
    """Return the records of a run's `episodes.jsonl`."""
    lines = (folder / EPISODES).read_bytes().splitlines()
    return [EpisodeRecord.model_validate_json(line) for line in lines]


def read_audit_lines(folder: Path) -> Iterator[RecordLine]:
    """Yield every line of a run's `episodes.jsonl`, invalid ones with the reason."""
    with (folder / EPISODES).open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield RecordLine(number, EpisodeRecord.model_validate_json(line))
            except ValidationError as error:
                yield RecordLine(number, None, first_validation_error(error))


def evidence_path(record: EpisodeRecord) -> str:
    """Return the path of an episode's evidence in the folder of the run."""
    return f"{EVIDENCE}/{name_of(record)}{EVIDENCE_SUFFIX}"


def read_evidence(folder: Path, record: EpisodeRecord) -> dict[str, Any]:
    """Return the evidence of an episode of the run. The signature is not verified.

    Raises UnreadableRunError for a missing or damaged file, and for a signed one that is not canonical JSON.
    """
    path = evidence_path(record)
    try:
        with gzip.open(folder / path) as packed:
            raw = packed.read(MAX_EVIDENCE_BYTES + 1)
        if len(raw) > MAX_EVIDENCE_BYTES:
            raise UnreadableRunError(f"has more than {MAX_EVIDENCE_BYTES:,} bytes")
        evidence = json.loads(raw)
    except FileNotFoundError:
        raise UnreadableRunError(f"{path}: missing") from None
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise UnreadableRunError(f"{path}: {error}") from error
    if not isinstance(evidence, dict):
        raise UnreadableRunError(f"{path}: is not a JSON object")
    if SIGNATURE in evidence:
        try:
            check_canonical(raw, evidence)
        except BrokenEvidenceError as error:
            raise UnreadableRunError(f"{path}: {error}") from error
    return evidence
