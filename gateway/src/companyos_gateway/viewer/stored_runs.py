"""The runs of `companyos eval` in a folder, read on demand.

Runs are looked up in the list of folders, so names from requests never become paths.
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
from companyos.viewer.stored_run import UnknownEpisodeError as UnknownStoredEpisodeError
from companyos_gateway.engine.errors import UnknownEpisodeError
from companyos_gateway.scenarios.rescoring import rescore_evidence

DEFAULT_RUNS_DIR = Path("runs")
MAX_CACHED_RUNS = 8
"""Number of runs in the LRU cache."""

T = TypeVar("T")


class UnknownRunError(UnknownEpisodeError):
    status, code, title = 404, "unknown-run", "Unknown run"


class StoredRuns:
    """The runs of a folder, none if it is missing. All methods block on files: call them in a thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cache: OrderedDict[str, tuple[object, StoredRun]] = OrderedDict()
        self._cache_lock = Lock()
        self._rescore_lock = Lock()

    def names(self) -> list[str]:
        """Return the names of the runs, the last modified first."""
        return sorted(self._run_dirs(), key=self._written_at, reverse=True)

    def records(self, name: str) -> list[EpisodeRecord]:
        """Return the records of a run; raises UnknownRunError (404)."""
        return self._query(name, lambda run: run.records)

    def document(self, name: str, address: Callable[[str], str], judged: Callable[[str], str]) -> RunDocument:
        """Return the document of a run; raises UnknownRunError (404)."""
        return self._query(name, lambda run: run.document(address, judged))

    def episode(self, name: str, episode: str) -> EpisodeDocument:
        """Return an episode of a run; raises UnknownRunError (404)."""
        return self._query(name, lambda run: run.episode(episode))

    def judged(self, name: str, episode: str) -> Judged:
        """Evaluate an episode of a run again, one at a time; raises UnknownRunError (404)."""
        with self._rescore_lock:
            return self._query(name, lambda run: run.judged(episode, rescore_evidence))

    def _query(self, name: str, read: Callable[[StoredRun], T]) -> T:
        try:
            return read(self._run(name))
        except (NotARunError, OSError) as error:
            raise UnknownRunError(f'The run "{name}" cannot be read.') from error
        except UnknownStoredEpisodeError as error:
            raise UnknownRunError(f'The run "{name}" has no such episode.') from error

    def _run(self, name: str) -> StoredRun:
        """Return a run, read again if its file has changed."""
        run_dir = self._run_dirs().get(name)
        if run_dir is None:
            raise UnknownRunError(f'There is no run "{name}".')
        with self._cache_lock:
            entry = self._cache.get(name)
            file_version = _file_version(run_dir)
            if entry is None or entry[0] != file_version:
                entry = self._cache[name] = (file_version, StoredRun(run_dir))
            self._cache.move_to_end(name)
            if len(self._cache) > MAX_CACHED_RUNS:
                self._cache.popitem(last=False)
            return entry[1]

    def _run_dirs(self) -> dict[str, Path]:
        return {run_dir.name: run_dir for run_dir in self._candidate_dirs() if (run_dir / EPISODES).is_file()}

    def _candidate_dirs(self) -> Iterator[Path]:
        """Yield the folder itself and its entries."""
        yield self.folder.resolve()
        try:
            yield from self.folder.iterdir()
        except OSError:
            return

    def _written_at(self, name: str) -> int:
        try:
            return (self._run_dirs()[name] / EPISODES).stat().st_mtime_ns
        except (KeyError, OSError):
            return 0


def _file_version(run_dir: Path) -> tuple[int, int]:
    file_stat = (run_dir / EPISODES).stat()
    return file_stat.st_mtime_ns, file_stat.st_size
