"""Row I: every planned instance could have happened in a real company."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.scenarios import catalogue
from verification.plausibility import find_implausible
from verification.proof.rows.base import Job, Row, Scope, Tally
from verification.proof.sizes import LEVELS

PLAUSIBLE = "every instance is plausible"

_CHUNK = 20


class Plausible(Row):
    """Checks planned instances with the rules of the plausibility linter."""

    letter = "I"
    title = "Plausibility"

    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return jobs with a few seeds each, for every scenario and level."""
        count = -(-scope.size.plausible_instances // (len(scope.scenarios) * len(LEVELS)))
        for scenario in scope.scenarios:
            for level in LEVELS:
                for seed in scope.seeds(count)[::_CHUNK]:
                    part = str(min(_CHUNK, scope.first + count - seed))
                    yield Job(row="I", part=part, scope=scope, scenario=scenario, seed=seed, level=level)

    async def work(self, engine: EpisodeEngine, job: Job) -> list[Tally]:
        """Plan instances and check them; `part` of the job is its number of seeds."""
        seeds = range(job.seed, job.seed + int(job.part))
        scenario = catalogue()[job.scenario]
        faults = [str(finding) for seed in seeds for finding in find_implausible(scenario.plan(seed, job.level))]
        return [Tally(promise=PLAUSIBLE, n=len(seeds), scenario=job.scenario, faults=tuple(faults))]

    def details(self, tallies: Sequence[Tally]) -> list[str]:
        """Return all findings."""
        return [f"- {fault}" for tally in tallies for fault in tally.faults]
