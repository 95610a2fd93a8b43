"""Row J: the fair oracle solves every shift; an agent that lacks an ability fails in shifts that require it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from companyos.contract import SHIFT_PREFIX, SHIFT_SIZES
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.scenarios.catalogue import builtin_names
from companyos_players.registry import fair_player
from companyos_players.shift_ablations import ABLATIONS, ONE_AT_A_TIME, SHIFT_ADVERSARIES, shift_player
from companyos_players.task_agnostic import TASK_AGNOSTIC, trace_imitators
from companyos_shared.streams import Stream
from verification.proof.bounds import MAX_FAILURE, MAX_ONE_AT_A_TIME, MIN_FAILING
from verification.proof.episode_runner import play, record_episode
from verification.proof.players.oracles import FAIR, steps_of
from verification.proof.rows.base import Job, Line, Row, Scope, Tally, summarize_violations

SOLVED = "the fair oracle solves every case"
LACKING = f"an agent that lacks one ability fails in >= {MIN_FAILING:.0%} of the shifts that ask for it"
OVERLOADED = f"an agent that works one case at a time succeeds in < {MAX_ONE_AT_A_TIME:.0%} of the weeks at level 4"
AGNOSTIC = f"task-agnostic agents and imitators of the oracle never succeed, nor return more than +{MAX_FAILURE:g}"
ADVERSARIES = "adversaries"
SUCCESS_RATE = "success of agents that lack one ability"
ABLATION_SIZES = ("day", "week")
_FOREIGN = 10_007
"""Distance between a seed and the seed of the shift that supplies a foreign trace."""

OVERLOAD, OVERLOADED_PER_SEED = ("week", 4), 10
"""Size and level of shifts that are too large for one case at a time, and the number played per ablation seed."""


class Shifts(Row):
    """The fair oracle, its ablations and adversaries, in shifts of all sizes."""

    letter = "J"
    title = "Shifts"

    def applies(self, scope: Scope) -> bool:
        """Return whether all scenarios are proved: shifts draw their cases from them."""
        return builtin_names() <= set(scope.scenarios)

    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return a job for each shift of the oracle, of each ablation and of the adversaries."""
        for size, count in SHIFT_SIZES.items():
            for level in scope.size.levels:
                players = {FAIR: scope.size.shift_seeds}
                if size in ABLATION_SIZES:
                    players |= dict.fromkeys(ABLATIONS, scope.size.ablation_seeds)
                    players[ADVERSARIES] = scope.size.shift_adversary_seeds
                if (size, level) == OVERLOAD:
                    players[ONE_AT_A_TIME] = OVERLOADED_PER_SEED * scope.size.ablation_seeds
                for player, seeds in players.items():
                    for seed in scope.seeds(seeds):
                        yield Job(row="J", part=f"{size}: {player}", scope=scope, seed=seed, level=level, weight=count)

    async def work(self, engine: EpisodeEngine, job: Job) -> list[Tally]:
        """Play one shift."""
        size, _, name = job.part.partition(": ")
        if name == ADVERSARIES:
            return await _play_adversaries(engine, job, f"{SHIFT_PREFIX}{size}")
        player = fair_player(f"{SHIFT_PREFIX}{size}") if name == FAIR else shift_player(ABLATIONS[name])
        result = await play(engine, f"{SHIFT_PREFIX}{size}", name, player, seed=job.seed, chaos=job.level)
        if result.verdict is None and name != FAIR:
            raise AssertionError(f"{result.place}: the environment failed")
        cases, features = ({}, {}) if result.verdict is None else (result.verdict.cases, result.verdict.features)
        where = f"{job.part}, level {job.level}"
        if name == FAIR:
            unsolved = [key for key, is_solved in cases.items() if not is_solved]
            faults = () if result.success else (f"{result.place}: {', '.join(unsolved) or result.player_error}",)
            return [Tally(promise=SOLVED, n=SHIFT_SIZES[size], who=where, faults=faults)]
        asks = name == ONE_AT_A_TIME or ABLATIONS[name].lacks in features
        tallies = [Tally(promise=SUCCESS_RATE, n=1, who=where, values=(float(result.success),))] if asks else []
        if name == ONE_AT_A_TIME and (size, job.level) == OVERLOAD:
            return [*tallies, Tally(promise=OVERLOADED, n=1, values=(float(result.success),))]
        if name == ONE_AT_A_TIME or not asks:
            return tallies
        return [*tallies, Tally(promise=LACKING, n=1, faults=(result.place,) if result.success else ())]

    def lines(self, scope: Scope, tallies: Sequence[Tally]) -> list[Line]:
        """Return the lines of the guarantees; the success rates of ablations are only shown in the details."""
        return super().lines(scope, [one for one in tallies if one.promise != SUCCESS_RATE])

    def line(self, scope: Scope, promise: str, tallies: Sequence[Tally]) -> Line:
        """Return the line of one guarantee."""
        n = sum(tally.n for tally in tallies)
        if promise == OVERLOADED:
            share = sum(value for tally in tallies for value in tally.values) / n
            return self.make_line(scope, promise, n, f"{share:.0%}", holds=share < MAX_ONE_AT_A_TIME)
        if promise == LACKING:
            successes = [fault for tally in tallies for fault in tally.faults]
            share = 1 - len(successes) / n
            result = f"{share:.1%}, {summarize_violations(successes)}"
            return self.make_line(scope, promise, n, result, holds=share >= MIN_FAILING)
        return super().line(scope, promise, tallies)

    def details(self, tallies: Sequence[Tally]) -> list[str]:
        """Return the success of every ablation by size and level."""
        counts: dict[str, list[float]] = {}
        for tally in tallies:
            if tally.promise == SUCCESS_RATE:
                counts.setdefault(tally.who, []).extend(tally.values)
        rows = [f"| {who} | {sum(values):.0f} of {len(values)} |" for who, values in sorted(counts.items())]
        return ["| shift and agent | successes |", "|---|---|", *rows] if rows else []


async def _play_adversaries(engine: EpisodeEngine, job: Job, shift: str) -> list[Tally]:
    fair, seed, level = fair_player(shift), job.seed, job.level
    own, foreign = [
        steps_of((await record_episode(engine, shift, FAIR, fair, seed=one, chaos=level)).step_records)
        for one in (seed, seed + _FOREIGN)
    ]
    imitators = trace_imitators(own, foreign, Stream("proof", "shifts", shift, seed, level))
    faults = []
    players = {**TASK_AGNOSTIC, **SHIFT_ADVERSARIES, **imitators}
    for name, player in players.items():
        result = await play(engine, shift, name, player, seed=seed, chaos=level)
        if result.success or result.return_ > MAX_FAILURE:
            faults.append(f"{result.place}: {name} returns {result.return_:.1f}")
    return [Tally(promise=AGNOSTIC, n=len(players), faults=tuple(faults))]
