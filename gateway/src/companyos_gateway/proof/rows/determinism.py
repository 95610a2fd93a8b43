"""Row E: a seed is one trajectory, in every process, whatever the machine is set to and however many play at once."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence

from companyos_gateway.episode.environment import Stage
from companyos_gateway.proof.rows.row import Job, Line, Row, Scope, Tally

ONE_DIGEST = (
    "one digest per seed over processes with other hash seeds, time zones, locales, crowds, Pythons, and restored"
)

SETTINGS: tuple[Mapping[str, str], ...] = (
    {"TZ": "UTC", "LC_ALL": "C"},
    {"TZ": "America/Lima", "LC_ALL": "C.UTF-8"},
    {"TZ": "Asia/Kathmandu", "LC_ALL": "de_DE.UTF-8"},
    {"TZ": "Pacific/Apia", "LC_ALL": "tr_TR.UTF-8"},
)
CROWDS = (1, 8, 3, 16)
"""How many episodes are played at once, by turns."""

LEG, CROWD, RESTORED, PYTHON = "leg", "crowd", "restored", "python"
OTHER_PYTHON = "PROOF_PYTHON"
"""The environment variable that names another interpreter with the packages; else one is looked for on the path."""

VERSIONS = ("3.11", "3.13")
_LEVEL = 3
_LEG_S = 1_800.0


class Determinism(Row):
    """The same episodes in many processes, each set up in another way."""

    letter = "E"
    title = "Determinism"

    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return a job for each process: with settings by turns, a full crowd, restored episodes, another Python."""
        for leg in range(scope.size.processes):
            yield Job(row="E", part=LEG, scope=scope, seed=leg, level=_LEVEL, weight=20)
        for leg, part in enumerate((CROWD, RESTORED, PYTHON), start=scope.size.processes):
            yield Job(row="E", part=part, scope=scope, seed=leg, level=_LEVEL, weight=scope.size.crowd)

    async def work(self, stage: Stage, job: Job) -> list[Tally]:
        """Start a process with a hash seed of its own and read its digest."""
        python = await _other_python() if job.part == PYTHON else sys.executable
        if python is None:
            return [Tally(promise=ONE_DIGEST, n=0)]
        turn = job.seed % len(SETTINGS)
        at_once = (
            job.scope.size.crowd if job.part == CROWD else CROWDS[(job.seed // len(SETTINGS) + turn) % len(CROWDS)]
        )
        asked = ["--seed", str(job.scope.first), "--level", str(_LEVEL), "--at-once", str(at_once)]
        asked += ["--restored"] if job.part == RESTORED else []
        process = await asyncio.create_subprocess_exec(
            *(python, "-m", "companyos_gateway.proof.legs", *asked, *job.scope.scenarios),
            env={**os.environ, **SETTINGS[turn], "PYTHONHASHSEED": str(job.seed)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, troubles = await asyncio.wait_for(process.communicate(), _LEG_S)
        if process.returncode != 0:
            raise RuntimeError(troubles.decode(errors="replace")[-400:])
        return [Tally(promise=ONE_DIGEST, n=1, who=said.decode().strip())]

    def lines(self, scope: Scope, tallies: Sequence[Tally]) -> list[Line]:
        """Return whether all digests are one."""
        found = {one.who for one in tallies if one.n}
        if not found:
            return []
        result = f"{len(found)} digest{'s' if len(found) > 1 else ''}, {sorted(found)[0][:12]}"
        if not all(one.n for one in tallies):
            result += f"; no Python {_other_version()} with the packages here"
        n = sum(one.n for one in tallies)
        return [self.told(scope, ONE_DIGEST, n, result, holds=len(found) == 1)]


async def _other_python() -> str | None:
    """Return another interpreter that has the packages, None where there is none."""
    python = os.environ.get(OTHER_PYTHON) or shutil.which(f"python{_other_version()}")
    if python is None:
        return None
    quiet = asyncio.subprocess.DEVNULL
    asked = await asyncio.create_subprocess_exec(
        *(python, "-c", "import companyos_gateway"), stdout=quiet, stderr=quiet
    )
    return python if await asked.wait() == 0 else None


def _other_version() -> str:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    return next(version for version in reversed(VERSIONS) if version != own)
