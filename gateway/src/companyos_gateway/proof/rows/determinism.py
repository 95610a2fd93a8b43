"""Row E: a seed is one trajectory, in every process, whatever the machine is set to and however many play at once."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable, Mapping, Sequence

from companyos_gateway.episode.environment import Stage
from companyos_gateway.proof.rows.row import Job, Line, Row, Scope, Tally

ONE_DIGEST = "one digest per seed over processes with other hash seeds, time zones, locales and crowds"

SETTINGS: tuple[Mapping[str, str], ...] = (
    {"TZ": "UTC", "LC_ALL": "C"},
    {"TZ": "America/Lima", "LC_ALL": "C.UTF-8"},
    {"TZ": "Asia/Kathmandu", "LC_ALL": "de_DE.UTF-8"},
    {"TZ": "Pacific/Apia", "LC_ALL": "tr_TR.UTF-8"},
)
CROWDS = (1, 8, 3, 16)
"""How many episodes are played at once, by turns."""

_LEVEL = 3
_LEG_S = 900.0


class Determinism(Row):
    """The same episodes in many processes, each set up in another way."""

    letter = "E"
    title = "Determinism"

    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return a job for each process."""
        for leg in range(scope.size.processes):
            yield Job(row="E", part="leg", scope=scope, seed=leg, level=_LEVEL, weight=20)

    async def work(self, stage: Stage, job: Job) -> list[Tally]:
        """Start a process with a hash seed of its own and read its digest."""
        turn = job.seed % len(SETTINGS)
        crowd = str(CROWDS[(job.seed // len(SETTINGS) + turn) % len(CROWDS)])
        asked = ["--seed", str(job.scope.first), "--level", str(_LEVEL), "--at-once", crowd, *job.scope.scenarios]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "companyos_gateway.proof.legs", *asked),
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
        found = {one.who for one in tallies}
        if not found:
            return []
        result = f"{len(found)} digest{'s' if len(found) > 1 else ''}, {sorted(found)[0][:12]}"
        return [self.told(scope, ONE_DIGEST, len(tallies), result, holds=len(found) == 1)]
