"""Row C: the verifier rejects every wrong end and accepts every right one, from stored evidence alone."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from companyos_gateway.episode.environment import Stage
from companyos_gateway.proof.bounds import LEAST_KILLED, LEAST_RIGHT, LEAST_WRONG
from companyos_gateway.proof.code.corpus import ledgers, tasks_of
from companyos_gateway.proof.code.explained import why_survives
from companyos_gateway.proof.code.mutants import Mutant
from companyos_gateway.proof.code.trial import Bench, Trial, drawn_mutants
from companyos_gateway.proof.players.oracles import (
    BENT_LEVEL,
    FAIR,
    OUTCOMES,
    STRAIGHT,
    fair_of,
    straight_seed,
    straight_way,
)
from companyos_gateway.proof.players.right import right_players
from companyos_gateway.proof.playing import Kept, keep
from companyos_gateway.proof.rows.row import Job, Line, Row, Scope, Tally
from companyos_gateway.proof.states.bends import Bend
from companyos_gateway.proof.states.ending import Ending
from companyos_gateway.proof.states.right import AS_IT_WAS, right_bends
from companyos_gateway.proof.states.wrong import wrong_bends
from companyos_shared.streams import Stream

WRONG = "every wrong end is rejected"
ENOUGH_WRONG = f"at least {LEAST_WRONG} wrong ends of each task"
RIGHT = "every right end is accepted"
ENOUGH_RIGHT = f"at least {LEAST_RIGHT} right ends of each task"
_APART = 1_000
"""How far apart the search for instances begins."""

KILLED = "code mutants of rubrics and rewards: >= 95 % are told from the original by stored ends"
CODE = "code"
EXPLAINED = "every code mutant that survives is explained"
NOT_EXPLAINED = "not explained"
_MUTANTS_EACH = 30
_BENCHES: dict[tuple[tuple[str, ...], int], Bench] = {}

PLAYED = "every right way that is played succeeds"


class Verifier(Row):
    """Ends of oracle episodes, bent one at a time."""

    letter = "C"
    title = "The verifier, mutated"

    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return a job for each instance whose end is bent, of both outcomes."""
        for scenario in scope.scenarios:
            for outcome in OUTCOMES:
                for nth in range(scope.size.bent_seeds):
                    seed = scope.first + nth * _APART
                    yield Job(
                        row="C", part=outcome, scope=scope, scenario=scenario, seed=seed, level=BENT_LEVEL, weight=6
                    )

        for chunk in range(max(1, scope.size.mutants // _MUTANTS_EACH)):
            yield Job(row="C", part=CODE, scope=scope, seed=chunk, weight=60)

    async def work(self, stage: Stage, job: Job) -> list[Tally]:
        """Bend the ends of one instance, or change code."""
        if job.part == CODE:
            return await _mutate(stage, job)
        job = replace(job, seed=straight_seed(job.scenario, job.seed, job.part))
        scenario, seed, level = job.scenario, job.seed, job.level
        way = await straight_way(stage, scenario, seed)
        foreign = await keep(stage, scenario, FAIR, fair_of(scenario), seed=seed + 1, chaos=level, overrides=STRAIGHT)
        if not way.played.success:
            return [Tally(promise=RIGHT, n=1, scenario=job.scenario, faults=(f"{job.scenario}: {way.played.place}",))]
        place = f"{job.scenario} seed {job.seed}"
        wrong, accepted = _tried(way, wrong_bends(way, foreign))
        right, all_right = _tried(way, right_bends(way))
        rejected = [name for name in right if name not in all_right]
        tallies = [
            Tally(promise=WRONG, n=len(wrong), scenario=job.scenario, faults=_placed(place, accepted)),
            Tally(promise=RIGHT, n=len(right), scenario=job.scenario, faults=_placed(place, rejected)),
            _enough(ENOUGH_WRONG, job, len(wrong), LEAST_WRONG),
            _enough(ENOUGH_RIGHT, job, len(right), LEAST_RIGHT),
        ]
        return [*tallies, await _right_ways(stage, job, way)]

    def line(self, scope: Scope, promise: str, tallies: Sequence[Tally]) -> Line:
        """Return the line of one promise."""
        if promise != KILLED:
            return super().line(scope, promise, tallies)
        n, survivors = sum(one.n for one in tallies), sum(len(one.faults) for one in tallies)
        share = (n - survivors) / n if n else 0.0
        return self.told(scope, promise, n, f"{share:.1%}, {survivors} survive", holds=share >= LEAST_KILLED)

    def details(self, tallies: Sequence[Tally]) -> list[str]:
        """Return the code mutants that survive."""
        survivors = sorted(fault for one in tallies if one.promise == KILLED for fault in one.faults)
        return ["Code mutants that survive:", "", *(f"- {one}" for one in survivors)] if survivors else []


def _tried(way: Kept, bends: Iterator[tuple[str, Bend]]) -> tuple[list[str], list[str]]:
    """Return the names of all bends, and of those whose end is accepted."""
    names, accepted = [], []
    for name, bend in bends:
        ending = Ending(way)
        bend(ending)
        if name == AS_IT_WAS or not ending.is_as(way):
            names.append(name)
            if ending.judge().success:
                accepted.append(name)
    return names, accepted


async def _mutate(stage: Stage, job: Job) -> list[Tally]:
    """Hold some of the drawn mutants against the ends of the scenarios that they judge."""
    scope = job.scope
    scenarios = _mutated(scope)
    chosen = drawn_mutants(scenarios, scope.size.mutants, seed=scope.first)
    bench = await _bench(stage, scenarios, scope.size.code_seeds)
    trials = [bench.tried(mutant) for mutant in chosen[job.seed :: max(1, scope.size.mutants // _MUTANTS_EACH)]]
    survivors = tuple(f"{one.place}: {why_survives(one) or NOT_EXPLAINED}" for one in _surviving(trials))
    known = [one.mutant for one in trials if why_survives(one.mutant) is not None]
    told = [f"{one.place}: explained, but told" for one in known if one not in _surviving(trials)]
    faults = (*(one for one in survivors if one.endswith(NOT_EXPLAINED)), *told)
    return [
        Tally(promise=KILLED, n=len(trials), faults=survivors),
        Tally(promise=EXPLAINED, n=len(trials), faults=faults),
    ]


def _surviving(trials: Sequence[Trial]) -> list[Mutant]:
    return [one.mutant for one in trials if not one.killed]


def _mutated(scope: Scope) -> list[str]:
    """Return the scenarios whose code is mutated, all or those that are drawn."""
    names = sorted(scope.scenarios)
    return sorted(Stream("proof", "mutated", scope.first).sample(names, min(scope.size.code_scenarios, len(names))))


async def _bench(stage: Stage, scenarios: Sequence[str], seeds: int) -> Bench:
    """Return what mutants are held against, made once in each process."""
    asked = tuple(scenarios), seeds
    if asked not in _BENCHES:
        _BENCHES.clear()
        tasks = [task for name in scenarios for task in await tasks_of(stage, name, seeds)]
        _BENCHES[asked] = Bench(tasks, ledgers())
        gc.collect()
        gc.freeze()
    return _BENCHES[asked]


async def _right_ways(stage: Stage, job: Job, way: Kept) -> Tally:
    """Play the oracle's work in other ways that are as good."""
    players = right_players(way, job.scenario, job.scope.size.swaps)
    faults = []
    for name, player in players.items():
        kept = await keep(stage, job.scenario, name, player, seed=job.seed, chaos=job.level, overrides=STRAIGHT)
        if not kept.played.success:
            faults.append(f"{job.scenario}: {kept.played.place}")
    return Tally(promise=PLAYED, n=len(players), scenario=job.scenario, faults=tuple(faults))


def _enough(promise: str, job: Job, found: int, least: int) -> Tally:
    faults = () if found >= least else (f"{job.scenario} seed {job.seed}: {found}",)
    return Tally(promise=promise, n=1, scenario=job.scenario, faults=faults)


def _placed(place: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{place}: {name}" for name in names)
