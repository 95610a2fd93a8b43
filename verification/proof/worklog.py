"""The work log: stores the tallies of every finished job, so that an interrupted proof can be resumed.

A job's key covers its definition and the code. Results of other code are not reused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import IO, Any

import companyos
import companyos_gateway
import companyos_players
import companyos_shared
import verification
from companyos_shared.streams import digest
from verification.proof.rows.base import Job, Tally

ADDED = ("companyos.services", "companyos.service_rules", "companyos.scenarios", "companyos.players")
"""Entry point groups whose packages a proof depends on."""

_SUFFIXES = frozenset({".py", ".toml", ".json"})


class WorkLog:
    """A file of finished jobs, one per line."""

    def __init__(self, path: Path) -> None:
        """Open or create a file. Raises OSError, and ValueError for a file of another kind."""
        self._done: dict[str, dict[str, Any]] = {}
        self.seconds = 0.0
        """Total duration of the reused jobs and those written in this run, in seconds."""

        self.commits: set[str] = set()
        """The commits at which these jobs were run."""

        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            self._read(path)
        self._file: IO[str] = path.open("a", encoding="utf-8")

    def found(self, jobs: Sequence[Job]) -> dict[Job, list[Tally]]:
        """Return the finished jobs with their tallies."""
        lines = {job: line for job in jobs if (line := self._done.get(key_of(job))) is not None}
        self.seconds = sum(line["seconds"] for line in lines.values())
        self.commits = {line["commit"] for line in lines.values()}
        return {job: [_tally(tally) for tally in line["tallies"]] for job, line in lines.items()}

    def write(self, job: Job, tallies: Sequence[Tally], *, seconds: float, commit: str) -> None:
        """Append a job's tallies, the seconds since the previous job, and the commit."""
        entry = {"job": key_of(job), "place": job.place, "commit": commit, "seconds": round(seconds, 3)}
        self._file.write(_line(entry | {"tallies": [asdict(tally) for tally in tallies]}))
        self._file.flush()
        self.seconds += seconds
        self.commits.add(commit)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self, path: Path) -> None:
        """Read the file; truncate an incomplete last line."""
        whole, _, rest = path.read_bytes().rpartition(b"\n")
        if rest:
            path.write_bytes(whole + b"\n" if whole else b"")
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                entry = json.loads(line)
                self._done[entry["job"]] = entry
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}, line {number}: invalid work log entry") from error


def key_of(job: Job) -> str:
    """Return the key of a job: a digest of its definition and of the code of all packages."""
    return digest([asdict(job), code_digest()])


@cache
def code_digest() -> str:
    """Return a digest of the code and data of the packages that a proof runs."""
    added = (import_module(entry.value.partition(":")[0]) for group in ADDED for entry in entry_points(group=group))
    roots = {
        _root(module)
        for module in (companyos_gateway, companyos, companyos_players, companyos_shared, verification, *added)
    }
    files = ((f"{root.name}/{path.relative_to(root).as_posix()}", path) for root in roots for path in _files(root))
    return digest([[name, hashlib.sha256(path.read_bytes()).hexdigest()] for name, path in sorted(files)])


def _root(module: Any) -> Path:
    """Return the package folder of a module."""
    package = import_module(module.__name__.partition(".")[0])
    assert package.__file__ is not None
    return Path(package.__file__).parent


def _files(root: Path) -> Iterable[Path]:
    return (path for path in root.rglob("*") if path.suffix in _SUFFIXES and path.is_file())


def _tally(entry: dict[str, Any]) -> Tally:
    return Tally(**{**entry, "faults": tuple(entry["faults"]), "values": tuple(entry["values"])})


def _line(entry: dict[str, Any]) -> str:
    return json.dumps(entry, separators=(",", ":")) + "\n"
