"""Row H: splits share no seeds or instances, and different seeds yield different instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.scenarios import catalogue
from companyos_gateway.tasks import TaskSet, fingerprint
from companyos_gateway.world.splits import SEEDS
from verification.proof.rows.base import Job, Line, Row, Scope, Tally
from verification.proof.sizes import LEVELS

DISJOINT = "the splits' seeds are disjoint"
COLLISIONS = "no two instances are the same, within and across splits"
HELD_OUT = "a held-out structure occurs only in the test split"

_CHUNK = 100
_HASH_DIGITS = 13
"""Number of hexadecimal digits of a fingerprint that are compared: 52 bits, which a float represents exactly."""

_NO_SPLIT = "no split"


class Splits(Row):
    """Checks that splits are disjoint."""

    letter = "H"
    title = "Splits"

    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return jobs with a few seeds each, for every scenario and chunk."""
        for scenario in scope.scenarios:
            for chunk in range(max(1, scope.size.hashes // _CHUNK)):
                yield Job(row="H", part="hash", scope=scope, scenario=scenario, seed=chunk, weight=2)

    async def work(self, engine: EpisodeEngine, job: Job) -> list[Tally]:
        """Plan and hash instances of each split and of seeds in no split; check the held-out variants."""
        scenario = catalogue()[job.scenario]
        tallies, held_out_tallies = [], []
        count = min(_CHUNK, job.scope.size.hashes)
        starts = {_NO_SPLIT: job.scope.first, **{split.value: seeds.start for split, seeds in SEEDS.items()}}
        for name, start in starts.items():
            hashes = []
            for nth in range(count // len(starts)):
                seed = start + job.seed * _CHUNK + nth
                instance = scenario.plan(seed, LEVELS[seed % len(LEVELS)])
                hashes.append(float(int(fingerprint(instance)[:_HASH_DIGITS], 16)))
            tallies.append(
                Tally(promise=COLLISIONS, n=len(hashes), scenario=job.scenario, who=name, values=tuple(hashes))
            )
        if job.seed == 0:
            held_out_tallies = [_held_out(job.scenario)]
        return [*tallies, *held_out_tallies]

    def lines(self, scope: Scope, tallies: Sequence[Tally]) -> list[Line]:
        """Return one line per guarantee."""
        pairs = list(combinations(SEEDS.values(), 2))
        shared = [f"{one} {other}" for one, other in pairs if max(one.start, other.start) < min(one.stop, other.stop)]
        first = self.make_line(scope, DISJOINT, len(pairs), f"{len(shared)} pairs overlap", holds=not shared)
        return [first, *super().lines(scope, tallies)]

    def line(self, scope: Scope, promise: str, tallies: Sequence[Tally]) -> Line:
        """Return the line of one guarantee."""
        if promise != COLLISIONS:
            return super().line(scope, promise, tallies)
        counted = Counter((tally.scenario, value) for tally in tallies for value in tally.values)
        collisions = sum(count - 1 for count in counted.values())
        n = sum(tally.n for tally in tallies)
        return self.make_line(scope, promise, n, f"{collisions} collisions", holds=n > 0 and collisions == 0)


def _held_out(scenario: str) -> Tally:
    """Check that the first tasks of every split use a held-out variant exactly if they declare one."""
    tasks, faults, n = TaskSet(catalogue()), [], 0
    names = sorted(catalogue())
    for split in SEEDS:
        for level in LEVELS[:2]:
            position = tasks.position(split, level * len(names) + names.index(scenario))
            variant = tasks.instance(position).variant
            n += 1
            if (variant in catalogue()[scenario].held_out) is not position.uses_held_out_variant:
                faults.append(f"{position.id}: {variant}")
    return Tally(promise=HELD_OUT, n=n, scenario=scenario, faults=tuple(faults))
