"""A run in the files of its folder, or a lone trajectory, as the viewer's documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from companyos.contract import EpisodeRecord
from companyos.rescorers import InvalidEvidenceError, Rescorer
from companyos.runner.run_reader import (
    EPISODES,
    EVIDENCE,
    EVIDENCE_SUFFIX,
    MESSAGES,
    TRAJECTORIES,
    UnreadableRunError,
    name_of,
    read_evidence,
    read_lines,
)
from companyos.viewer.document import EpisodeDocument, EpisodeFacts, Judged, RunDocument
from companyos.viewer.document_builder import episode_document, episode_facts, trajectory_facts
from companyos.viewer.messages import read_messages
from companyos.viewer.step_verdicts import rescore_steps, with_judged
from companyos.viewer.trajectories import read_trajectory

UrlBuilder = Callable[[str], str]


class NotARunError(ValueError):
    """Raised for a path that is neither the folder of a run nor a trajectory."""


class UnknownEpisodeError(LookupError):
    """Raised for a name that no episode of the run has."""


class StoredRun:
    """Reads a run, an episode at a time. Raises NotARunError, and OSError for what cannot be opened.

    A path to one trajectory shows that episode alone: with record and evidence where it lies in a run, else its steps.
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
            raise NotARunError(f"{path}: there is no such file or folder")

    @property
    def title(self) -> str:
        """What the run is called."""
        return self.path.resolve().name

    def stamp(self) -> tuple[int, int] | None:
        """Return what is another once the list of the run has changed; None where it is gone."""
        try:
            found = (self._single_trajectory or self._folder / EPISODES).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    @property
    def records(self) -> list[EpisodeRecord]:
        """The lines of the run that could be read; none where the path is one to a lone trajectory."""
        return [*self._records.values()]

    @property
    def names(self) -> list[str]:
        """The names of the episodes, in the order of the run."""
        return [*self._records] if self._single_trajectory is None else [self._single_trajectory.stem]

    def document(self, addresses: UrlBuilder | None = None, judged: UrlBuilder | None = None) -> RunDocument:
        """Return the list of the run; `addresses` says where the document of an episode is fetched from."""
        episodes = []
        for name in self.names:
            document_link = {"document": addresses(name)} if addresses is not None else {}
            judged_link = {"judged": judged(name)} if judged is not None and name in self._records else {}
            episodes.append(self._facts(name).model_copy(update={**document_link, **judged_link}))
        return RunDocument(title=self.title, episodes=episodes, faults=self.faults)

    def episode(self, name: str) -> EpisodeDocument:
        """Return one episode. Raises UnknownEpisodeError."""
        return self._episode(name)[0]

    def judged(self, name: str, rescorer: Rescorer) -> Judged:
        """Return the verdict of now on an episode. Raises UnknownEpisodeError."""
        document, evidence = self._episode(name)
        return Judged(fault="no evidence was kept") if evidence is None else rescore_steps(document, evidence, rescorer)

    def judged_episode(self, name: str, rescorer: Rescorer) -> EpisodeDocument:
        """Return one episode with the verdict of now. Raises UnknownEpisodeError."""
        document, evidence = self._episode(name)
        return document if evidence is None else with_judged(document, rescore_steps(document, evidence, rescorer))

    def _facts(self, name: str) -> EpisodeFacts:
        record = self._records.get(name)
        if record is not None:
            return episode_facts(record, name)
        assert self._single_trajectory is not None
        return trajectory_facts(read_trajectory(self._single_trajectory, self._single_trajectory.name), name)

    def _episode(self, name: str) -> tuple[EpisodeDocument, dict[str, Any] | None]:
        document, evidence = self._load(name)
        said, faults = read_messages(self._folder / MESSAGES / f"{name}.jsonl", f"{MESSAGES}/{name}.jsonl")
        return document.model_copy(update={"said": said, "faults": [*document.faults, *faults]}), evidence

    def _load(self, name: str) -> tuple[EpisodeDocument, dict[str, Any] | None]:
        record = self._records.get(name)
        if record is None:
            if self._single_trajectory is None or name != self._single_trajectory.stem:
                raise UnknownEpisodeError(f"no episode of {self.path} is called {name!r}")
            trajectory = read_trajectory(self._single_trajectory, self._single_trajectory.name)
            return episode_document(trajectory_facts(trajectory, name), trajectory), None
        facts, faults, evidence = episode_facts(record, name), [], None
        trajectory = read_trajectory(self._folder / TRAJECTORIES / f"{name}.jsonl", f"{TRAJECTORIES}/{name}.jsonl")
        try:
            evidence = read_evidence(self._folder, record)
            return episode_document(facts, trajectory, record=record, evidence=evidence), evidence
        except UnreadableRunError as error:
            faults.append(str(error))
        except InvalidEvidenceError as error:
            faults.append(f"{EVIDENCE}/{name}{EVIDENCE_SUFFIX}: {error}")
        return episode_document(facts, trajectory, record=record, faults=faults), None

    def _read_records(self) -> None:
        if not (self._folder / EPISODES).is_file():
            raise NotARunError(
                f"{self._folder} is no folder of a run: it has no {EPISODES}; `companyos eval --out` makes one"
            )
        for name, record, fault in _records(self._folder):
            if record is None:
                self.faults.append(str(fault))
            elif name in self._records:
                self.faults.append(f"{EPISODES}: {name} is told twice; the last one is shown")
            if record is not None:
                self._records[name] = record

    def _read_trajectory_run(self, file: Path) -> None:
        """Find the record of a trajectory in the run that it lies in."""
        if file.parent.name == TRAJECTORIES and (self._folder / EPISODES).is_file():
            self._records = {
                name: record for name, record, _ in _records(self._folder) if name == file.stem and record is not None
            }
        if not self._records:
            self._single_trajectory = file


def _records(folder: Path) -> Iterator[tuple[str, EpisodeRecord | None, str | None]]:
    """Yield every line with the name of its files."""
    for line in read_lines(folder):
        place = f"{EPISODES}, line {line.number}"
        if line.record is None:
            yield "", None, f"{place}: {line.fault}"
        elif Path(name := name_of(line.record)).name != name:
            yield "", None, f"{place}: {name!r} is no name of files"
        else:
            yield name, line.record, None
