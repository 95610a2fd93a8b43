"""The work log: what every finished job has counted, in a file, so that a proof that was stopped goes on from there.

A job is known by all that it depends on: what it is, and the code that it runs. What was done on other code is not
found.
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

SERVICES = "companyos.services"

_SUFFIXES = frozenset({".py", ".toml", ".json"})
_PROOF = "verification/proof/"
_UNRELATED = (
    "verification/reference/",
    "companyos_gateway/scenarios/validation.py",
    "companyos_gateway/api/",
    "companyos_gateway/app.py",
    "companyos_gateway/middleware/",
    "companyos_gateway/process/",
    "companyos_gateway/runtime.py",
    "companyos_shared/pages/",
    *(f"{_PROOF}{name}.py" for name in ("__main__", "cli", "process_pool", "report", "sizes", "worklog")),
)
"""What no proof depends on: who looks before a start, serves, shows, hands out the work. Sizes are part of a job."""

_OF_CLIENT = ("companyos/contract.py", "companyos/policies/")
"""What the gateway knows of the client."""

_PLACES_OF_A_SCENARIO = (
    "companyos_gateway/scenarios/{}/",
    "companyos_players/fair/{}.py",
    "companyos_players/adversaries/{}.py",
    "verification/privileged/{}.py",
)
_TASK_AGNOSTIC = "companyos_players/task_agnostic.py"
_OF_VERIFICATION = (_PROOF, "verification/privileged/")
_STATES, _CODE = f"{_PROOF}final_states/", f"{_PROOF}code_mutation/"


class WorkLog:
    """A file of finished jobs, one to a line."""

    def __init__(self, path: Path) -> None:
        """Open a file, or begin it. Raises OSError, and ValueError for a file of another kind."""
        self._done: dict[str, dict[str, Any]] = {}
        self.seconds = 0.0
        """How long all runs together have worked on what is found."""

        self.commits: set[str] = set()
        """The commits at which it was done."""

        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            self._read(path)
        self._file: IO[str] = path.open("a", encoding="utf-8")

    def found(self, jobs: Sequence[Job]) -> dict[Job, list[Tally]]:
        """Return those of the jobs that were done, with what they counted."""
        lines = {job: line for job in jobs if (line := self._done.get(key_of(job))) is not None}
        self.seconds = sum(line["seconds"] for line in lines.values())
        self.commits = {line["commit"] for line in lines.values()}
        return {job: [_tally(one) for one in line["tallies"]] for job, line in lines.items()}

    def write(self, job: Job, tallies: Sequence[Tally], *, seconds: float, commit: str) -> None:
        """Write down what a job has counted, the seconds since the one before it, and the commit."""
        entry = {"job": key_of(job), "place": job.place, "commit": commit, "seconds": round(seconds, 3)}
        self._file.write(_line(entry | {"tallies": [asdict(one) for one in tallies]}))
        self._file.flush()
        self.seconds += seconds
        self.commits.add(commit)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self, path: Path) -> None:
        """Read what is there; a last line that a killed process left half written is cut off."""
        whole, _, rest = path.read_text(encoding="utf-8").rpartition("\n")
        if rest:
            path.write_text(f"{whole}\n" if whole else "", encoding="utf-8")
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                entry = json.loads(line)
                self._done[entry["job"]] = entry
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}, line {number}: no line of a work log") from error


def key_of(job: Job) -> str:
    """Return what stands for a job: a digest of what it is and of the code that it runs."""
    return digest([asdict(job), code_digest(job.row, job.part, job.scenario)])


@cache
def code_digest(row: str, part: str, scenario: str) -> str:
    """Return a digest of the code that the jobs of a part of a row run, those of one scenario or, with "", of all."""
    depends_on = _dependency_filter(row, part, scenario)
    hasher = hashlib.sha256()
    for name, content in _sources():
        if depends_on(name):
            hasher.update(f"{name}\0{content}\n".encode())
    return hasher.hexdigest()


def _dependency_filter(row: str, part: str, scenario: str) -> Callable[[str], bool]:
    """Return what says of a file whether that part of the row depends on it: no scenario knows another."""
    own = f"{_PROOF}rows/{PurePosixPath(inspect.getfile(type(ROWS[row]))).name}"
    others = tuple(
        place.format(name) for name in catalogue() if scenario and name != scenario for place in _PLACES_OF_A_SCENARIO
    )

    def depends_on(name: str) -> bool:
        if name.startswith(others):
            return False
        if name.startswith(f"{_PROOF}rows/"):
            return name in (own, f"{_PROOF}rows/base.py")
        if name.startswith(_CODE):
            return (row, part) == ("C", "code")
        if name == _TASK_AGNOSTIC:
            return row in {"D", "F"} or (row, part) in {("B", "play"), ("B", "chance")}
        return not name.startswith(_STATES) or row in {"A", "C", "D"}

    return depends_on


@cache
def _sources() -> tuple[tuple[str, str], ...]:
    """Return the files that a proof may depend on, by name, with a digest of each."""
    services = (import_module(entry.value.partition(":")[0]) for entry in entry_points(group=SERVICES))
    roots = {
        _root(module)
        for module in (companyos_gateway, companyos, companyos_players, companyos_shared, verification, *services)
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
    return not name.startswith(_UNRELATED) and PurePosixPath(name).parts[1] != "pages"


def _root(module: Any) -> Path:
    """Return the folder of the package that a module lies in."""
    package = import_module(module.__name__.partition(".")[0])
    assert package.__file__ is not None
    return Path(package.__file__).parent


def _files(root: Path) -> Iterable[Path]:
    return (path for path in root.rglob("*") if path.suffix in _SUFFIXES and path.is_file())


def _tally(entry: dict[str, Any]) -> Tally:
    return Tally(**{**entry, "faults": tuple(entry["faults"]), "values": tuple(entry["values"])})


def _line(entry: dict[str, Any]) -> str:
    return json.dumps(entry, separators=(",", ":")) + "\n"
