"""The work log: stores the tallies of every finished job, so that an interrupted proof can be resumed.

A job's key covers its definition and the code that it runs. Results of other code are not reused.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path, PurePosixPath
from typing import IO, Any

import companyos
import companyos_gateway
import companyos_players
import companyos_shared
import verification
from companyos_gateway.scenarios import catalogue
from companyos_shared.streams import digest
from verification.proof.rows import ROWS
from verification.proof.rows.base import Job, Tally

ADDED = ("companyos.services", "companyos.service_rules", "companyos.scenarios", "companyos.players")
"""Entry point groups whose packages a proof depends on."""

_SUFFIXES = frozenset({".py", ".toml", ".json"})
_PROOF = "verification/proof/"
_UNRELATED = (
    "verification/reference/",
    "companyos_gateway/scenarios/validation.py",
    "companyos_gateway/__main__.py",
    "companyos_gateway/api/",
    "companyos_gateway/app.py",
    "companyos_gateway/main.py",
    "companyos_gateway/middleware/",
    "companyos_gateway/process/",
    "companyos_gateway/runtime.py",
    "companyos_gateway/settings.py",
    "companyos_gateway/workers/",
    "companyos_shared/serving.py",
    *(f"{_PROOF}{name}.py" for name in ("__main__", "cli", "execution", "process_pool", "report", "sizes", "worklog")),
)
"""Modules on which no proof depends: startup checks, servers, displays and scheduling. Sizes are part of a job."""

_PAGES_OF_THE_GATEWAY = ("companyos_gateway/ui/", "companyos_gateway/viewer/", "companyos_gateway/browser/")

_SHIFTS = ("companyos_gateway/scenarios/shift_", "companyos_players/shift_")
"""Code that only shifts run, not episodes of one scenario."""

_OF_CLIENT = ("companyos/contract.py", "companyos/entry_points.py", "companyos/policies/")
"""Client modules that the gateway uses."""

_PLACES_OF_A_SCENARIO = ("companyos_gateway/scenarios/{}/", "companyos_players/scenarios/{}.py")
_TASK_AGNOSTIC = "companyos_players/task_agnostic.py"
_LINTER = "verification/plausibility/"
_OF_VERIFICATION = (_PROOF, _LINTER, "verification/privileged/")
_STATES, _CODE = f"{_PROOF}final_states/", f"{_PROOF}code_mutation/"


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
    """Return the key of a job: a digest of its definition and of the code that it runs."""
    return digest([asdict(job), code_digest(job.row, job.part, job.scenario)])


@cache
def code_digest(row: str, part: str, scenario: str) -> str:
    """Return a digest of the code of a row's part, for one scenario, or for all if `scenario` is empty."""
    depends_on = _dependency_filter(row, part, scenario)
    hasher = hashlib.sha256()
    for name, content in _sources():
        if depends_on(name):
            hasher.update(f"{name}\0{content}\n".encode())
    return hasher.hexdigest()


def _dependency_filter(row: str, part: str, scenario: str) -> Callable[[str], bool]:
    """Return a predicate for the files that a row's part depends on; a scenario does not depend on others."""
    own = f"{_PROOF}rows/{PurePosixPath(inspect.getfile(type(ROWS[row]))).name}"
    others = tuple(
        place.format(name) for name in catalogue() if scenario and name != scenario for place in _PLACES_OF_A_SCENARIO
    )

    reads_states = row in {"A", "C", "D"} or (row, part) == ("B", "search")
    reads_pages = row == "C" and part.startswith("channels")

    def depends_on(name: str) -> bool:
        if name.startswith(others) or (_is_page(name) and not reads_pages):
            return False
        if name.startswith(f"{_PROOF}rows/"):
            return name in (own, f"{_PROOF}rows/base.py")
        if name.startswith(_LINTER):
            return row == "I"
        if name.startswith(_SHIFTS):
            return row in {"E", "H", "J"} or (row, part) == ("C", "code")
        if name.startswith(_CODE):
            return (row, part) == ("C", "code")
        if name == _TASK_AGNOSTIC:
            return row in {"D", "F", "J"} or (row, part) in {("B", "play"), ("B", "chance")}
        return not name.startswith(_STATES) or reads_states

    return depends_on


@cache
def _sources() -> tuple[tuple[str, str], ...]:
    """Return the name and digest of each file on which a proof may depend."""
    added = (import_module(entry.value.partition(":")[0]) for group in ADDED for entry in entry_points(group=group))
    roots = {
        _root(module)
        for module in (companyos_gateway, companyos, companyos_players, companyos_shared, verification, *added)
    }
    found = ((f"{root.name}/{path.relative_to(root).as_posix()}", path) for root in roots for path in _files(root))
    return tuple(
        (name, hashlib.sha256(path.read_bytes()).hexdigest()) for name, path in sorted(found) if _is_relevant(name)
    )


def _is_relevant(name: str) -> bool:
    if name.startswith("companyos/"):
        return name.startswith(_OF_CLIENT)
    if name.startswith("verification/"):
        return name.startswith(_OF_VERIFICATION) and not name.startswith(_UNRELATED)
    return not name.startswith(_UNRELATED)


def _is_page(name: str) -> bool:
    """Return whether a file belongs to pages: those of the apps, of the gateway, or of screenshot episodes."""
    return PurePosixPath(name).parts[1] == "pages" or name.startswith(_PAGES_OF_THE_GATEWAY)


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
