"""Rescores the stored evidence of a run and compares the verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from companyos.contract import EpisodeRecord, EpisodeVerdict, Outcome
from companyos.rescorers import InvalidEvidenceError, Rescorer
from companyos.runner.run_reader import EPISODES, UnreadableRunError, read_audit_lines, read_evidence


@dataclass(frozen=True, kw_only=True)
class Rescored:
    """One rescored line of a run. `fault` is the reason for a failure; `location` is the line."""

    location: str
    record: EpisodeRecord | None = None
    new: EpisodeVerdict | None = None
    fault: str | None = None

    @property
    def differs(self) -> bool:
        """Return whether the new verdict differs from the stored one."""
        old = self.record.verdict if self.record is not None else None
        return old is not None and self.new is not None and not old.agrees_with(self.new)

    @property
    def is_infra_error(self) -> bool:
        """Return whether the episode has no evidence because of an infrastructure error."""
        return self.record is not None and self.record.outcome is Outcome.INFRA_ERROR


def rescore(folder: Path, rescorer: Rescorer) -> Iterator[Rescored]:
    """Yield every line of a run with its new verdict. Raises OSError if the folder is not a run."""
    for line in read_audit_lines(folder):
        location = f"{folder / EPISODES}, line {line.number}"
        if line.record is None:
            yield Rescored(location=location, fault=line.fault)
        else:
            yield _rescore_record(folder, line.record, rescorer, location)


def _rescore_record(folder: Path, record: EpisodeRecord, rescorer: Rescorer, location: str) -> Rescored:
    if record.outcome is Outcome.INFRA_ERROR:
        return Rescored(location=location, record=record)
    if record.verdict is None:
        return Rescored(location=location, record=record, fault="contains no verdict")
    try:
        return Rescored(location=location, record=record, new=rescorer(read_evidence(folder, record)))
    except (UnreadableRunError, InvalidEvidenceError) as error:
        return Rescored(location=location, record=record, fault=str(error))
