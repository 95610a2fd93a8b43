"""Row E: a seed determines the trajectory, in every process, with any machine settings and concurrency."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence

from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.scenarios.catalogue import builtin_names
from verification.proof.rows.base import Job, Line, Row, Scope, Tally

ONE_DIGEST = "one digest per seed across hash seeds, time zones, locales, concurrency, Python versions and restores"

SETTINGS: tuple[Mapping[str, str], ...] = (
    {"TZ": "UTC", "LC_ALL": "C"},
    {"TZ": "America/Lima", "LC_ALL": "C.UTF-8"},
    {"TZ": "Asia/Kathmandu", "LC_ALL": "de_DE.UTF-8"},
    {"TZ": "Pacific/Apia", "LC_ALL": "tr_TR.UTF-8"},
)
CONCURRENCY_LEVELS = (1, 8, 3, 16)
"""Numbers of concurrent episodes, used in rotation."""

SHIFT = "shift-week"
"""A shift that is played in addition to the scenarios, if all of them are proved."""

WORKER, CONCURRENT, RESTORED, PYTHON = "leg", "crowd", "restored", "python"
OTHER_PYTHON = "PROOF_PYTHON"
"""Environment variable for another interpreter with the packages; by default, one is searched on the path."""

VERSIONS = ("3.11", "3.13")
_LEVEL = 3
_WORKER_TIMEOUT_S = 1_800.0


class Determinism(Row):
    """The same episodes in many processes with different settings."""

    letter = "E"
    title = "Determinism"

    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return one job per process: rotating settings, high concurrency, restored episodes and another Python."""
        for index in range(scope.size.processes):
            yield Job(row="E", part=WORKER, scope=scope, seed=index, level=_LEVEL, weight=20)
        for index, part in enumerate((CONCURRENT, RESTORED, PYTHON), start=scope.size.processes):
            yield Job(row="E", part=part, scope=scope, seed=index, level=_LEVEL, weight=scope.size.crowd)

    async def work(self, engine: EpisodeEngine, job: Job) -> list[Tally]:
        """Start a process with its own hash seed and read its digest."""
        python = await _other_python() if job.part == PYTHON else sys.executable
        if python is None:
            return [Tally(promise=ONE_DIGEST, n=0)]
        turn = job.seed % len(SETTINGS)
        at_once = (
            job.scope.size.crowd
            if job.part == CONCURRENT
            else CONCURRENCY_LEVELS[(job.seed // len(SETTINGS) + turn) % len(CONCURRENCY_LEVELS)]
        )
        arguments = ["--seed", str(job.scope.first), "--level", str(_LEVEL), "--at-once", str(at_once)]
        arguments += ["--restored"] if job.part == RESTORED else []
        process = await asyncio.create_subprocess_exec(
            *(
                python,
                "-m",
                "verification.proof.determinism_worker",
                *arguments,
                *job.scope.sampled("E"),
                *([SHIFT] if builtin_names() <= set(job.scope.scenarios) else []),
            ),
            env={**os.environ, **SETTINGS[turn], "PYTHONHASHSEED": str(job.seed)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        stdout, stderr = await asyncio.wait_for(process.communicate(), _WORKER_TIMEOUT_S)
        if process.returncode != 0:
            raise RuntimeError(stderr.decode(errors="replace")[-400:])
        return [Tally(promise=ONE_DIGEST, n=1, who=stdout.decode().strip())]

    def lines(self, scope: Scope, tallies: Sequence[Tally]) -> list[Line]:
        """Return whether all digests are equal."""
        digests = {tally.who for tally in tallies if tally.n}
        if not digests:
            return []
        result = f"{len(digests)} digest{'s' if len(digests) > 1 else ''}, {sorted(digests)[0][:12]}"
        if not all(tally.n for tally in tallies):
            result += f"; no Python {_other_version()} with the packages found"
        n = sum(tally.n for tally in tallies)
        return [self.make_line(scope, ONE_DIGEST, n, result, holds=len(digests) == 1)]


async def _other_python() -> str | None:
    """Return another interpreter that has the packages, or None."""
    python = os.environ.get(OTHER_PYTHON) or shutil.which(f"python{_other_version()}")
    if python is None:
        return None
    quiet = asyncio.subprocess.DEVNULL
    probe = await asyncio.create_subprocess_exec(
        *(python, "-c", "import companyos_gateway"), stdout=quiet, stderr=quiet
    )
    return python if await probe.wait() == 0 else None


def _other_version() -> str:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    return next(version for version in reversed(VERSIONS) if version != own)
