"""Builds the viewer's documents from the files of a run, or from one trajectory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from companyos.contract import EpisodeRecord
from companyos.rescorers import InvalidEvidenceError, Rescorer
from companyos.runner.run_reader import (
    EPISODES,
    MESSAGES,
    TRAJECTORIES,
    UnreadableRunError,
    evidence_path,
    name_of,
    read_audit_lines,
    read_evidence,
)
from companyos.signed_evidence import SIGNATURE, verify_evidence
from companyos.viewer.document import EpisodeDocument, EpisodeFacts, Judged, RunDocument
from companyos.viewer.document_builder import episode_document, episode_facts, trajectory_facts
from companyos.viewer.messages import read_messages
from companyos.viewer.step_verdicts import rescore_steps, with_judged
from companyos.viewer.trajectories import read_trajectory

UrlBuilder = Callable[[str], str]


class NotARunError(ValueError):
    """Raised for a path that is neither the folder of a run nor a trajectory."""


class UnknownEpisodeError(LookupError):
    """Raised for an unknown episode name."""


def check_is_run(folder: Path) -> None:
    """Raise NotARunError unless the folder contains a run."""
    if not (folder / EPISODES).is_file():
        raise NotARunError(
            f"{folder} is not the folder of a run: {EPISODES} is missing; `companyos eval --out` creates it"
        )


class StoredRun:
    """Reads a run, one episode at a time. Raises NotARunError, and OSError for unreadable files.

    The path of a trajectory selects only its episode, with record and evidence if it belongs to a run.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.faults: list[str] = []
        self._records: dict[str, EpisodeRecord] = {}
        self._single_trajectory: Path | None = None
        if path.is_dir():
            self._folder = path
            self._read_records()
        elif path.suffix == ".jsonl" and path.is_file() and path.name != EPISODES:
            self._folder = path.parent.parent
            self._read_trajectory_run(path)
        elif path.exists():
            raise NotARunError(f"{path} is neither the folder of a run nor one of its trajectories (.jsonl)")
        else:
            raise NotARunError(f"{path}: no such file or folder")

    @property
    def title(self) -> str:
        """Title of the run."""
        return self.path.resolve().name

    def stamp(self) -> tuple[int, int] | None:
        """Return modification time (ns) and size (bytes) of the list of the run; None if it was removed."""
        try:
            stat = (self._single_trajectory or self._folder / EPISODES).stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size

    @property
    def records(self) -> list[EpisodeRecord]:
        """The readable records of the run; empty for a lone trajectory."""
        return [*self._records.values()]

    @property
    def names(self) -> list[str]:
        """Names of the episodes, in run order."""
        return [*self._records] if self._single_trajectory is None else [self._single_trajectory.stem]

    def document(self, addresses: UrlBuilder | None = None, judged: UrlBuilder | None = None) -> RunDocument:
        """Return the list of the run; `addresses` and `judged` return the URLs of an episode's documents."""
        episodes = []
        for name in self.names:
            document_link = {"document": addresses(name)} if addresses is not None else {}
            judged_link = {"judged": judged(name)} if judged is not None and name in self._records else {}
            episodes.append(self._facts(name).model_copy(update={**document_link, **judged_link}))
        return RunDocument(title=self.title, episodes=episodes, faults=self.faults)

    def episode(self, name: str, rescorer: Rescorer | None = None) -> EpisodeDocument:
        """Return one episode, with a rescorer including the current verdict. Raises UnknownEpisodeError."""
        document, evidence = self._episode(name)
        if rescorer is None or evidence is None:
            return document
        return with_judged(document, rescore_steps(document, evidence, rescorer))

    def judged(self, name: str, rescorer: Rescorer) -> Judged:
        """Return the current verdict on an episode. Raises UnknownEpisodeError."""
        document, evidence = self._episode(name)
        return (
            Judged(fault="no evidence was stored") if evidence is None else rescore_steps(document, evidence, rescorer)
        )

    def _facts(self, name: str) -> EpisodeFacts:
        record = self._records.get(name)
        if record is not None:
            return episode_facts(record, name)
        assert self._single_trajectory is not None
        return trajectory_facts(read_trajectory(self._single_trajectory, self._single_trajectory.name), name)

    def _episode(self, name: str) -> tuple[EpisodeDocument, dict[str, Any] | None]:
        document, evidence = self._load(name)
        messages, faults = read_messages(self._folder / MESSAGES / f"{name}.jsonl", f"{MESSAGES}/{name}.jsonl")
        return document.model_copy(update={"messages": messages, "faults": [*document.faults, *faults]}), evidence

    def _load(self, name: str) -> tuple[EpisodeDocument, dict[str, Any] | None]:
        record = self._records.get(name)
        if record is None:
            if self._single_trajectory is None or name != self._single_trajectory.stem:
                raise UnknownEpisodeError(f"unknown episode {name!r} in {self.path}")
            trajectory = read_trajectory(self._single_trajectory, self._single_trajectory.name)
            return episode_document(trajectory_facts(trajectory, name), trajectory), None
        facts, faults, evidence = episode_facts(record, name), [], None
        trajectory = read_trajectory(self._folder / TRAJECTORIES / f"{name}.jsonl", f"{TRAJECTORIES}/{name}.jsonl")
        try:
            evidence = read_evidence(self._folder, record)
            if SIGNATURE in evidence:
                verify_evidence(evidence)
            return episode_document(facts, trajectory, record=record, evidence=evidence), evidence
        except UnreadableRunError as error:
            faults.append(str(error))
        except InvalidEvidenceError as error:
            faults.append(f"{evidence_path(record)}: {error}")
        return episode_document(facts, trajectory, record=record, faults=faults), None

    def _read_records(self) -> None:
        check_is_run(self._folder)
        for name, record, fault in _records(self._folder):
            if record is None:
                self.faults.append(str(fault))
            elif name in self._records:
                self.faults.append(f"{EPISODES}: duplicate {name}; the last record is shown")
            if record is not None:
                self._records[name] = record

    def _read_trajectory_run(self, file: Path) -> None:
        """Find the record of a trajectory in its run."""
        if file.parent.name == TRAJECTORIES and (self._folder / EPISODES).is_file():
            self._records = {
                name: record for name, record, _ in _records(self._folder) if name == file.stem and record is not None
            }
        if not self._records:
            self._single_trajectory = file


def _records(folder: Path) -> Iterator[tuple[str, EpisodeRecord | None, str | None]]:
    """Yield the file name and the record of every line, or its fault."""
    for line in read_audit_lines(folder):
        place = f"{EPISODES}, line {line.number}"
        if line.record is None:
            yield "", None, f"{place}: {line.fault}"
        elif Path(name := name_of(line.record)).name != name:
            yield "", None, f"{place}: {name!r} is not a valid file name"
        else:
            yield name, line.record, None
