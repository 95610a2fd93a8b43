"""The work log: what every finished job has counted, in a file, so that a proof that was stopped goes on from there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import IO, Any

import companyos
import companyos_gateway
import companyos_shared
from companyos_gateway.proof.rows.row import Job, Tally
from companyos_shared.streams import digest

JUDGED = frozenset({".py", ".toml", ".json"})
"""Files that what is proved depends on."""

SERVICES = "companyos.services"


class OtherCode(ValueError):
    """Raised where a work log was begun on other code: what it holds proves nothing of this one."""


class WorkLog:
    """A file of finished jobs, one to a line below a head that says of which code they speak."""

    def __init__(self, path: Path, *, code: str) -> None:
        """Open a file, or begin it. Raises OtherCode, and OSError where it cannot be written."""
        self._path = path
        self.done: dict[str, list[Tally]] = {}
        self.seconds = 0.0
        """How long all runs together have worked."""
        if path.exists() and path.stat().st_size > 0:
            self._read(code)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_line({"code": code}), encoding="utf-8")
        self._file: IO[str] = path.open("a", encoding="utf-8")

    def found(self, jobs: Sequence[Job]) -> dict[Job, list[Tally]]:
        """Return those of the jobs that were done, with what they counted."""
        return {job: self.done[key] for job in jobs if (key := key_of(job)) in self.done}

    def write(self, job: Job, tallies: Sequence[Tally], *, seconds: float) -> None:
        """Write down what a job has counted, and the seconds since the one before it."""
        counted = [asdict(one) for one in tallies]
        self._file.write(_line({"job": key_of(job), "place": job.place, "seconds": seconds, "tallies": counted}))
        self._file.flush()
        self.seconds += seconds

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self, code: str) -> None:
        """Read what is there; a last line that a killed process left half written is cut off."""
        text = self._path.read_text(encoding="utf-8")
        whole, _, rest = text.rpartition("\n")
        if rest:
            self._path.write_text(f"{whole}\n", encoding="utf-8")
        lines = [json.loads(line) for line in whole.splitlines()]
        if not lines or lines[0].get("code") != code:
            raise OtherCode(f"{self._path} was begun on other code; what it holds proves nothing of this one")
        self.done = {line["job"]: [_tally(one) for one in line["tallies"]] for line in lines[1:]}
        self.seconds = sum(line["seconds"] for line in lines[1:])


def key_of(job: Job) -> str:
    """Return what stands for a job: a digest of all that it depends on."""
    return digest(asdict(job))


def code_digest() -> str:
    """Return a digest of everything that is proved: the gateway, the client, the services and what they share."""
    services = (import_module(entry.value.partition(":")[0]) for entry in entry_points(group=SERVICES))
    roots = {_root(module) for module in (companyos_gateway, companyos, companyos_shared, *services)}
    told = hashlib.sha256()
    for root in sorted(roots, key=lambda one: one.name):
        for path in _judged(root):
            told.update(f"{root.name}/{path.relative_to(root).as_posix()}\0".encode())
            told.update(hashlib.sha256(path.read_bytes()).digest())
    return told.hexdigest()


def _root(module: Any) -> Path:
    """Return the folder of the package that a module lies in."""
    package = import_module(module.__name__.partition(".")[0])
    assert package.__file__ is not None
    return Path(package.__file__).parent


def _judged(root: Path) -> Iterable[Path]:
    return sorted(path for path in root.rglob("*") if path.suffix in JUDGED and path.is_file())


def _tally(said: dict[str, Any]) -> Tally:
    return Tally(**{**said, "faults": tuple(said["faults"]), "values": tuple(said["values"])})


def _line(said: dict[str, Any]) -> str:
    return json.dumps(said, separators=(",", ":")) + "\n"
