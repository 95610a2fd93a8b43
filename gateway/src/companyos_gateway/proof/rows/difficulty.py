"""Row G: chaos is what makes it hard. Skill decides, and every kind is material."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import sqrt

from companyos.contract import Outcome
from companyos.policies import load_policy
from companyos_gateway.chaos import Group, Kind, profile_for
from companyos_gateway.chaos.kinds import Mark
from companyos_gateway.episode.environment import Stage
from companyos_gateway.proof.bounds import LEAST_LOSS
from companyos_gateway.proof.players.attentive import DISTRACTIONS, distracted
from companyos_gateway.proof.players.oracles import fair_of
from companyos_gateway.proof.playing import Player, keep
from companyos_gateway.proof.rows.row import Job, Line, Row, Scope, Tally, against
from companyos_gateway.proof.sizes import LEVELS
from companyos_gateway.scenarios.solutions import skipper_of

ORACLE = "oracle"
WORKERS = ("worker1", "worker2", "worker3")
WEAKEST = WORKERS[0]

LADDER = "success of no worker rises with the chaos level (paired seeds)"
LOSS = "the weakest worker loses 30 points of success from level 0 to 4, the oracle 0"
DECISIVE = "who skips a decisive kind fails where it struck"
COSTS = "each friction kind costs who ignores it (paired, 95 % interval above 0)"

_Z_95 = 1.96
_KIND_LEVEL = 1
"""Where kinds are tried one by one: nothing has to be refused there, so each lies on the way."""

_STORM = 4


class Difficulty(Row):
    """Workers of rising skill over the levels, and kinds of chaos one by one."""

    letter = "G"
    title = "Difficulty"

    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return a job for each paired seed, and one for each kind in each scenario."""
        marks = profile_for(_STORM)
        for scenario in scope.scenarios:
            for seed in scope.seeds(scope.size.pairs):
                yield Job(row="G", part="levels", scope=scope, scenario=scenario, seed=seed, weight=5)
            for kind in Kind:
                if marks.rate(kind) > 0:
                    for seed in scope.seeds(scope.size.kind_seeds):
                        yield Job(
                            row="G", part=kind.value, scope=scope, scenario=scenario, seed=seed, level=_KIND_LEVEL
                        )

    async def work(self, stage: Stage, job: Job) -> list[Tally]:
        """Let workers play every level, or whoever ignores a kind play with it and without."""
        if job.part == "levels":
            return await _levels(stage, job)
        kind = Kind(job.part)
        decisive = profile_for(_STORM).mark(kind) is Mark.DECISIVE
        return await (_decisive(stage, job, kind) if decisive else _friction(stage, job, kind))

    def lines(self, scope: Scope, tallies: Sequence[Tally]) -> list[Line]:
        """Return a line for each promise."""
        found: list[Line] = []
        ladder = [one for one in tallies if one.promise == LADDER]
        if ladder:
            found += [_ladder_line(self, scope, ladder), _loss_line(self, scope, ladder)]
        decisive = [one for one in tallies if one.promise == DECISIVE]
        if decisive:
            found.append(self.line(scope, DECISIVE, decisive))
        costs = [one for one in tallies if one.promise == COSTS]
        if costs:
            found.append(_costs_line(self, scope, costs))
        return found

    def details(self, tallies: Sequence[Tally]) -> list[str]:
        """Return success by worker and level, and a line for each kind."""
        rows = ["| who | " + " | ".join(f"level {level}" for level in LEVELS) + " |", "|---" * 6 + "|"]
        curves = _curves([one for one in tallies if one.promise == LADDER])
        rows += [
            f"| {who} | " + " | ".join(f"{_mean(levels[level]):.0%}" for level in LEVELS) + " |"
            for who, levels in curves.items()
        ]
        rows += ["", "| kind | episodes in which it struck | what it does to who ignores it |", "|---|---|---|"]
        for who, group in sorted(_by_who([one for one in tallies if one.promise == DECISIVE]).items()):
            n, won = sum(one.n for one in group), sum(len(one.faults) for one in group)
            rows.append(f"| {who} | {n} | {n - won} of {n} fail |")
        for who, group in sorted(_by_who([one for one in tallies if one.promise == COSTS]).items()):
            values = [value for one in group for value in one.values]
            if values:
                low, high = _interval(values)
                rows.append(
                    f"| {who} | {len(values)} | costs {_mean(values):.2f} of return ({low:.2f} to {high:.2f}) |"
                )
        return rows


async def _levels(stage: Stage, job: Job) -> list[Tally]:
    tallies = []
    for who in (*WORKERS, ORACLE):
        won: dict[str, float] = {}
        for level in LEVELS:
            kept = await keep(stage, job.scenario, who, load_policy(who).play, seed=job.seed, chaos=level)
            won[str(level)] = float(kept.played.success)
        tallies.append(Tally(promise=LADDER, n=len(won), scenario=job.scenario, who=who, notes=won))
    return tallies


async def _decisive(stage: Stage, job: Job, kind: Kind) -> list[Tally]:
    player = skipper_of(job.scenario, kind)
    if player is None:
        return []
    options = {kind.value: 1.0}
    played = (
        await keep(stage, job.scenario, f"skips {kind}", player, seed=job.seed, chaos=job.level, overrides=options)
    ).played
    if kind not in played.kinds or played.outcome is Outcome.INFRA_ERROR:
        return []
    faults = (f"{job.scenario}: {played.place}",) if played.success else ()
    return [Tally(promise=DECISIVE, n=1, scenario=job.scenario, who=kind.value, faults=faults)]


async def _friction(stage: Stage, job: Job, kind: Kind) -> list[Tally]:
    player: Player = skipper_of(job.scenario, kind) or fair_of(job.scenario)
    if kind in DISTRACTIONS:
        player = distracted(fair_of(job.scenario))
    returns = []
    for rate in (1.0, 0.0):
        overrides = {**_calm_but(kind), kind.value: rate}
        played = (
            await keep(stage, job.scenario, "ignores", player, seed=job.seed, chaos=job.level, overrides=overrides)
        ).played
        if rate and kind not in played.kinds:
            return []
        returns.append(played.return_)
    return [Tally(promise=COSTS, n=1, scenario=job.scenario, who=kind.value, values=(returns[1] - returns[0],))]


def _calm_but(kind: Kind) -> dict[str, float]:
    """Return overrides that keep the wire quiet around a kind, so that the pair differs in nothing else."""
    return {one.value: 0.0 for one in Kind if one.group is Group.TRANSPORT and one is not kind}


def _ladder_line(row: Row, scope: Scope, tallies: Sequence[Tally]) -> Line:
    rises = [
        f"{who} from {low} to {high}"
        for who in WORKERS
        for low, high in pairwise(LEVELS)
        if _rises([one.notes[str(high)] - one.notes[str(low)] for one in tallies if one.who == who])
    ]
    n = sum(one.n for one in tallies if one.who in WORKERS)
    return row.told(scope, LADDER, n, against(rises), holds=not rises)


def _loss_line(row: Row, scope: Scope, tallies: Sequence[Tally]) -> Line:
    curves = _curves(tallies)
    lost = {who: _mean(levels[LEVELS[0]]) - _mean(levels[LEVELS[-1]]) for who, levels in curves.items()}
    result = f"{WEAKEST} {lost[WEAKEST]:.0%}, oracle {lost[ORACLE]:.0%}"
    n = sum(one.n for one in tallies if one.who in (WEAKEST, ORACLE))
    return row.told(scope, LOSS, n, result, holds=lost[WEAKEST] >= LEAST_LOSS and lost[ORACLE] == 0)


def _costs_line(row: Row, scope: Scope, tallies: Sequence[Tally]) -> Line:
    free = []
    for who, group in _by_who(tallies).items():
        values = [value for one in group for value in one.values]
        low, high = _interval(values)
        if low <= 0:
            free.append(f"{who} {_mean(values):.2f} ({low:.2f} to {high:.2f})")
    return row.told(scope, COSTS, sum(one.n for one in tallies), against(sorted(free)), holds=not free)


def _curves(tallies: Sequence[Tally]) -> dict[str, dict[int, list[float]]]:
    curves: dict[str, dict[int, list[float]]] = {}
    for one in tallies:
        levels = curves.setdefault(one.who, {level: [] for level in LEVELS})
        for level in LEVELS:
            levels[level].append(one.notes[str(level)])
    return curves


def _rises(differences: Sequence[float]) -> bool:
    """Say whether the differences lie above 0 beyond chance."""
    return bool(differences) and _interval(differences)[0] > 0


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean."""
    mean, n = _mean(values), len(values)
    if n == 1:
        return (float("-inf"), float("inf")) if mean == 0 else (mean, mean)
    spread = sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)
    return mean - _Z_95 * spread, mean + _Z_95 * spread


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _by_who(tallies: Iterable[Tally]) -> dict[str, list[Tally]]:
    groups: dict[str, list[Tally]] = {}
    for one in tallies:
        groups.setdefault(one.who, []).append(one)
    return groups
