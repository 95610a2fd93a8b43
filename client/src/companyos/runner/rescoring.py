"""Rescores the stored evidence of a run and compares the verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from companyos.contract import EpisodeRecord, EpisodeVerdict, InjectionInfo, Outcome
from companyos.rescorers import InvalidEvidenceError, Rescorer
from companyos.runner.run_reader import EPISODES, UnreadableRunError, evidence_path, read_audit_lines, read_evidence
from companyos.signed_evidence import BrokenEvidenceError, UnsignedEvidenceError, verify_evidence


@dataclass(frozen=True, kw_only=True)
class Rescored:
    """One rescored line of a run. `fault` is the reason for a failure; `location` is the line.

    `public_key` is the key that signed the evidence, in hexadecimal; None for unsigned evidence. `is_unsigned` is True
    if the fault is the missing signature.
    """

    location: str
    record: EpisodeRecord | None = None
    new: EpisodeVerdict | None = None
    fault: str | None = None
    public_key: str | None = None
    is_unsigned: bool = False

    @property
    def differs(self) -> bool:
        """Return whether the new verdict differs from the stored one."""
        old = self.record.verdict if self.record is not None else None
        return old is not None and self.new is not None and not old.agrees_with(self.new)

    @property
    def is_infra_error(self) -> bool:
        """Return whether the episode has no evidence because of an infrastructure error."""
        return self.record is not None and self.record.outcome is Outcome.INFRA_ERROR


def rescore(
    folder: Path, rescorer: Rescorer, *, public_keys: Collection[str] = (), allow_unsigned: bool = False
) -> Iterator[Rescored]:
    """Yield every line of a run with its new verdict. Raises OSError if the folder is not a run.

    The signature of the evidence is verified first: with `public_keys`, if there are any, else with the key in the
    evidence. Broken evidence is a fault, and so are unsigned evidence without `allow_unsigned` and a line that
    contradicts its signed evidence.
    """
    for line in read_audit_lines(folder):
        location = f"{folder / EPISODES}, line {line.number}"
        if line.record is None:
            yield Rescored(location=location, fault=line.fault)
        else:
            try:
                yield _rescore_record(folder, line.record, rescorer, location, public_keys, allow_unsigned)
            except (UnreadableRunError, InvalidEvidenceError) as error:
                is_unsigned = isinstance(error, UnsignedEvidenceError)
                yield Rescored(location=location, record=line.record, fault=str(error), is_unsigned=is_unsigned)


def _rescore_record(
    folder: Path,
    record: EpisodeRecord,
    rescorer: Rescorer,
    location: str,
    public_keys: Collection[str],
    allow_unsigned: bool,
) -> Rescored:
    if record.outcome is Outcome.INFRA_ERROR:
        return Rescored(location=location, record=record)
    if record.verdict is None:
        return Rescored(location=location, record=record, fault="contains no verdict")
    evidence, public_key = read_evidence(folder, record), None
    try:
        public_key = verify_evidence(evidence, public_keys)
    except UnsignedEvidenceError as error:
        if not allow_unsigned:
            raise UnsignedEvidenceError(f"{evidence_path(record)}: {error}") from error
    except BrokenEvidenceError as error:
        raise BrokenEvidenceError(f"{evidence_path(record)}: {error}") from error
    if public_key is not None:
        _check_record(record, evidence)
    return Rescored(location=location, record=record, new=rescorer(evidence), public_key=public_key)


def _check_record(record: EpisodeRecord, evidence: Mapping[str, Any]) -> None:
    """Raise BrokenEvidenceError if a record contradicts its signed evidence."""
    path, stated = evidence_path(record), record.model_dump(mode="json")
    try:
        task, state = evidence["task"], evidence["state"]
        verdict = EpisodeVerdict.model_validate(evidence["verdict"])
        injections = [InjectionInfo.model_validate(injection) for injection in evidence["injections"]]
        signed = {
            "scenario": task["scenario"],
            "seed": task["seed"],
            "chaos": task["chaos"],
            "task_id": state["task_id"] if record.task_id is not None else None,
            "task_set": state["task_set"],
            "success": bool(state["success"]),
            "return": state["return"],
            "steps": state["step_count"],
            "outcome": state["outcome"],
            "verdict": verdict.model_dump(mode="json"),
            "injections": [injection.model_dump(mode="json") for injection in injections],
        }
    except (ValidationError, KeyError, TypeError) as error:
        raise InvalidEvidenceError(f"{path}: invalid evidence: {type(error).__name__} {error}") from error
    for name, value in signed.items():
        if stated[name] != value:
            raise BrokenEvidenceError(f"{EPISODES} states another {name} than the signed {path}")
