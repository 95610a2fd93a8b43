"""The runs of `companyos eval` below one folder: listed by their names, read when somebody looks, never written.

A visitor names a run that was listed, and nothing else: no name of a visitor's becomes a path.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import TypeVar

from companyos.contract import EpisodeRecord
from companyos.runner.run_reader import EPISODES
from companyos.viewer import EpisodeDocument, Judged, RunDocument
from companyos.viewer.stored_run import NotARunError, StoredRun
from companyos.viewer.stored_run import UnknownEpisodeError as UnknownName
from companyos_gateway.episode.errors import UnknownEpisodeError
from companyos_gateway.scenarios.judging import judge_stored

DEFAULT_FOLDER = Path("runs")
MOST_READ = 8
"""Runs whose lines are kept in memory, the least recently used leaves."""

T = TypeVar("T")


class UnknownRun(UnknownEpisodeError):
    status, code, title = 404, "unknown-run", "There is no such run"


class Runs:
    """The runs of a folder, none where it is not there. Everything here reads files, and belongs into a thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: OrderedDict[str, tuple[object, StoredRun]] = OrderedDict()
        self._reading = Lock()
        self._judging = Lock()

    def names(self) -> list[str]:
        """Return the names of the runs, the one that was written last first."""
        return sorted(self._places(), key=self._written_at, reverse=True)

    def records(self, name: str) -> list[EpisodeRecord]:
        """Return the lines of a run; raises UnknownRun (404)."""
        return self._asked(name, lambda run: run.records)

    def document(self, name: str, address: Callable[[str], str], judged: Callable[[str], str]) -> RunDocument:
        """Return the list of a run; raises UnknownRun (404)."""
        return self._asked(name, lambda run: run.document(address, judged))

    def episode(self, name: str, episode: str) -> EpisodeDocument:
        """Return one episode of a run; raises UnknownRun (404)."""
        return self._asked(name, lambda run: run.episode(episode))

    def judged(self, name: str, episode: str) -> Judged:
        """Return the verdict of now on an episode of a run, one at a time; raises UnknownRun (404)."""
        with self._judging:
            return self._asked(name, lambda run: run.judged(episode, judge_stored))

    def _asked(self, name: str, look: Callable[[StoredRun], T]) -> T:
        try:
            return look(self._run(name))
        except (NotARunError, OSError) as gone:
            raise UnknownRun("It cannot be read.") from gone
        except UnknownName as unknown:
            raise UnknownRun("The run has no episode of that name.") from unknown

    def _run(self, name: str) -> StoredRun:
        """Return a run, read anew where its lines have changed."""
        place = self._places().get(name)
        if place is None:
            raise UnknownRun
        with self._reading:
            kept = self._read.get(name)
            stamp = _stamp(place)
            if kept is None or kept[0] != stamp:
                kept = self._read[name] = (stamp, StoredRun(place))
            self._read.move_to_end(name)
            if len(self._read) > MOST_READ:
                self._read.popitem(last=False)
            return kept[1]

    def _places(self) -> dict[str, Path]:
        return {place.name: place for place in self._folders() if (place / EPISODES).is_file()}

    def _folders(self) -> Iterator[Path]:
        """Yield what may be a run: the folder itself, and what lies in it."""
        yield self.folder.resolve()
        try:
            yield from self.folder.iterdir()
        except OSError:
            return

    def _written_at(self, name: str) -> int:
        try:
            return (self._places()[name] / EPISODES).stat().st_mtime_ns
        except (KeyError, OSError):
            return 0


def _stamp(place: Path) -> tuple[int, int]:
    found = (place / EPISODES).stat()
    return found.st_mtime_ns, found.st_size
