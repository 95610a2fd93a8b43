"""Row G: chaos makes tasks harder, skilled workers succeed more often, and every chaos kind has an effect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from companyos.contract import Outcome
from companyos.policies import load_policy
from companyos_gateway.chaos import Group, Kind, Mark, profile_for
from companyos_gateway.chaos.kinds import REQUIRES
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.blocks.declared_scenario import inapplicable_kinds
from companyos_players.distraction import DISTRACTIONS, distract
from companyos_players.player import Player
from companyos_players.registry import ablation_of, fair_player
from companyos_players.tool_matching import match_tools_by_description
from companyos_shared.wire.context import Actor, FaultKind
from verification.proof.bounds import MIN_FIRED, MIN_LOSS
from verification.proof.episode_runner import RecordedEpisode, record_episode
from verification.proof.rows.base import Job, Line, Row, Scope, Tally, group_tallies, summarize_violations
from verification.proof.sizes import LEVELS
from verification.proof.statistics import confidence_interval, mean

ORACLE = "oracle"
WORKERS = ("worker1", "worker2", "worker3")
WEAKEST = WORKERS[0]

LADDER = "no worker's success rises with the chaos level (paired seeds)"
LOSS = "the weakest worker loses 30 points of success from level 0 to 4, the oracle 0"
DECISIVE = "an agent that ignores a decisive kind fails where it occurs"
COSTS = "each friction kind costs an agent that ignores it (paired, 95 % interval above 0)"
FIRES = "each kind fires in >= 99 % of the episodes that configure it"

LEVELS_PART, PLANS = "levels", "plans"

_KIND_LEVEL = 1
"""The level for single kinds. No instance must be refused at it, so each kind affects the work."""

_HIGHEST_LEVEL = 4


class Difficulty(Row):
    """Workers of increasing skill at all levels, and each chaos kind alone."""

    letter = "G"
    title = "Difficulty"

    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return jobs for paired seeds at all levels, for each kind in each scenario, and for planning only."""
        marks = profile_for(_HIGHEST_LEVEL)
        for scenario in scope.scenarios:
            for seed in scope.seeds(scope.size.pairs):
                yield Job(row="G", part=LEVELS_PART, scope=scope, scenario=scenario, seed=seed, weight=5)
            for seed in scope.seeds(scope.size.fired_seeds):
                yield Job(row="G", part=PLANS, scope=scope, scenario=scenario, seed=seed, level=_KIND_LEVEL, weight=2)
        for kind in (kind for kind in Kind if marks.rate(kind) > 0):
            is_decisive = marks.mark(kind) is Mark.DECISIVE
            for scenario in scope.sampled(kind):
                for seed in scope.seeds(scope.size.kind_seeds if is_decisive else scope.size.friction_seeds):
                    yield Job(row="G", part=kind.value, scope=scope, scenario=scenario, seed=seed, level=_KIND_LEVEL)

    async def work(self, engine: EpisodeEngine, job: Job) -> list[Tally]:
        """Run workers at every level, an agent that ignores a kind, or planning only."""
        if job.part == LEVELS_PART:
            return await _levels(engine, job)
        if job.part == PLANS:
            return _planned(job)
        kind = Kind(job.part)
        decisive = profile_for(_HIGHEST_LEVEL).mark(kind) is Mark.DECISIVE
        return await (_decisive(engine, job, kind) if decisive else _friction(engine, job, kind))

    def lines(self, scope: Scope, tallies: Sequence[Tally]) -> list[Line]:
        """Return one line per guarantee."""
        found: list[Line] = []
        ladder = [tally for tally in tallies if tally.promise == LADDER]
        if ladder:
            found += [_ladder_line(self, scope, ladder), _loss_line(self, scope, ladder)]
        decisive = [one for one in tallies if one.promise == DECISIVE]
        if decisive:
            found.append(self.line(scope, DECISIVE, decisive))
        costs = [one for one in tallies if one.promise == COSTS]
        if costs:
            found.append(_costs_line(self, scope, costs))
        fires = [tally for tally in tallies if tally.promise == FIRES]
        if fires:
            found.append(_fires_line(self, scope, fires))
        return found

    def details(self, tallies: Sequence[Tally]) -> list[str]:
        """Return success by worker and level, and a line for each kind."""
        rows = ["| who | " + " | ".join(f"level {level}" for level in LEVELS) + " |", "|---" * 6 + "|"]
        curves = _curves([tally for tally in tallies if tally.promise == LADDER])
        rows += [
            f"| {who} | " + " | ".join(f"{mean(levels[level]):.0%}" for level in LEVELS) + " |"
            for who, levels in curves.items()
        ]
        rows += ["", "| kind | episodes in which it occurred | effect on an agent that ignores it |", "|---|---|---|"]
        for who, group in sorted(group_tallies([one for one in tallies if one.promise == DECISIVE], "who").items()):
            n, won = sum(tally.n for tally in group), sum(len(tally.faults) for tally in group)
            rows.append(f"| {who} | {n} | {n - won} of {n} fail |")
        for who, group in sorted(group_tallies([one for one in tallies if one.promise == COSTS], "who").items()):
            values = [value for tally in group for value in tally.values]
            if values:
                low, high = confidence_interval(values)
                rows.append(f"| {who} | {len(values)} | costs {mean(values):.2f} of return ({low:.2f} to {high:.2f}) |")
        return rows


async def _levels(engine: EpisodeEngine, job: Job) -> list[Tally]:
    tallies = []
    for who in (*WORKERS, ORACLE):
        won: dict[str, float] = {}
        for level in LEVELS:
            kept = await record_episode(engine, job.scenario, who, load_policy(who).play, seed=job.seed, chaos=level)
            won[str(level)] = float(kept.result.success)
        tallies.append(Tally(promise=LADDER, n=len(won), scenario=job.scenario, who=who, notes=won))
    return tallies


async def _decisive(engine: EpisodeEngine, job: Job, kind: Kind) -> list[Tally]:
    player = ablation_of(job.scenario, kind)
    if player is None:
        return []
    options = {kind.value: 1.0}
    kept = await record_episode(
        engine, job.scenario, f"skips {kind}", player, seed=job.seed, chaos=job.level, overrides=options
    )
    result = kept.result
    if kind not in result.kinds or result.outcome is Outcome.INFRA_ERROR:
        return []
    faults = (f"{job.scenario}: {result.place}",) if result.success else ()
    return [Tally(promise=DECISIVE, n=1, scenario=job.scenario, who=kind.value, faults=faults), *_fired(kept, kind)]


async def _friction(engine: EpisodeEngine, job: Job, kind: Kind) -> list[Tally]:
    player: Player = ablation_of(job.scenario, kind) or fair_player(job.scenario)
    if kind in DISTRACTIONS:
        player = distract(fair_player(job.scenario))
    if kind is Kind.REWORDED_TOOLS:
        player = match_tools_by_description(fair_player(job.scenario), engine.tools(None))
    returns: list[float] = []
    fired: list[Tally] = []
    for rate in (1.0, 0.0):
        overrides = {**_paired_overrides(kind), kind.value: rate}
        kept = await record_episode(
            engine, job.scenario, "ignores", player, seed=job.seed, chaos=job.level, overrides=overrides
        )
        if kept.result.outcome is Outcome.INFRA_ERROR or (rate and kind not in kept.result.kinds):
            return []
        if rate:
            fired = _fired(kept, kind)
        returns.append(kept.result.return_)
    cost = returns[1] - returns[0]
    return [Tally(promise=COSTS, n=1, scenario=job.scenario, who=kind.value, values=(cost,)), *fired]


def _paired_overrides(kind: Kind) -> dict[str, float]:
    """Return the overrides that both episodes of a pair share, so that they differ only in one kind.

    Transport faults are off, and the kind's prerequisites are on. For `approver_leaves`, the first approver is in
    office.
    """
    calm = {item.value: 0.0 for item in Kind if item.group is Group.TRANSPORT and item is not kind}
    needed = {REQUIRES[kind].value: 1.0} if kind in REQUIRES else {}
    there = {Kind.APPROVER_OUT_OF_OFFICE.value: 0.0} if kind is Kind.APPROVER_LEAVES else {}
    return {**calm, **needed, **there}


def _planned(job: Job) -> list[Tally]:
    """Plan an instance with each kind of its scenario, and check whether it occurs."""
    scenario, tallies = catalogue()[job.scenario], []
    for kind in Kind:
        if kind.group is Group.TRANSPORT or kind in inapplicable_kinds(scenario):
            continue
        affected = {item.kind for item in scenario.plan(job.seed, job.level, {kind.value: 1.0}).injections}
        tallies.append(_firing(job.scenario, job.seed, kind, fires=kind in affected))
    return tallies


def _fired(kept: RecordedEpisode, kind: Kind) -> list[Tally]:
    """Return a tally of whether a transport fault affected a call; other kinds are checked in the plan."""
    if kind.value not in set(FaultKind):
        return []
    if kind is Kind.STALE_READ and not _changed_existing_row(kept):
        return []
    met = {line["planned"] for lines in kept.stored["audits"].values() for line in lines}
    return [_firing(kept.instance.scenario, kept.result.seed, kind, fires=kind.value in met)]


def _changed_existing_row(kept: RecordedEpisode) -> bool:
    """Return whether the agent changed an existing row, which can then be read stale."""
    changes = (line for lines in kept.stored["changes"].values() for line in lines)
    return any(change["actor"] == Actor.AGENT and change["before"] is not None for change in changes)


def _firing(scenario: str, seed: int, kind: Kind, *, fires: bool) -> Tally:
    faults = () if fires else (f"{scenario} seed {seed}: {kind}",)
    return Tally(promise=FIRES, n=1, scenario=scenario, who=kind.value, faults=faults)


def _ladder_line(row: Row, scope: Scope, tallies: Sequence[Tally]) -> Line:
    rises = [
        f"{who} from {low} to {high}"
        for who in WORKERS
        for low, high in pairwise(LEVELS)
        if _rises([tally.notes[str(high)] - tally.notes[str(low)] for tally in tallies if tally.who == who])
    ]
    n = sum(tally.n for tally in tallies if tally.who in WORKERS)
    return row.make_line(scope, LADDER, n, summarize_violations(rises), holds=not rises)


def _loss_line(row: Row, scope: Scope, tallies: Sequence[Tally]) -> Line:
    curves = _curves(tallies)
    lost = {who: mean(levels[LEVELS[0]]) - mean(levels[LEVELS[-1]]) for who, levels in curves.items()}
    result = f"{WEAKEST} {lost[WEAKEST]:.0%}, oracle {lost[ORACLE]:.0%}"
    n = sum(tally.n for tally in tallies if tally.who in (WEAKEST, ORACLE))
    return row.make_line(scope, LOSS, n, result, holds=lost[WEAKEST] >= MIN_LOSS and lost[ORACLE] == 0)


def _costs_line(row: Row, scope: Scope, tallies: Sequence[Tally]) -> Line:
    free = []
    for who, group in group_tallies(tallies, "who").items():
        values = [value for tally in group for value in tally.values]
        low, high = confidence_interval(values)
        if low <= 0:
            free.append(f"{who} {mean(values):.2f} ({low:.2f} to {high:.2f})")
    return row.make_line(
        scope, COSTS, sum(tally.n for tally in tallies), summarize_violations(sorted(free)), holds=not free
    )


def _fires_line(row: Row, scope: Scope, tallies: Sequence[Tally]) -> Line:
    """Compare by kind, so that frequent kinds do not hide one that rarely occurs."""
    shares = {
        who: 1 - sum(len(tally.faults) for tally in group) / sum(tally.n for tally in group)
        for who, group in group_tallies(tallies, "who").items()
    }
    least = min(sorted(shares), key=lambda who: shares[who])
    seldom = [f"{who} {share:.1%}" for who, share in sorted(shares.items()) if share < MIN_FIRED]
    result = f"lowest {shares[least]:.1%} ({least})" + (f"; {summarize_violations(seldom)}" if seldom else "")
    return row.make_line(scope, FIRES, sum(tally.n for tally in tallies), result, holds=not seldom)


def _curves(tallies: Sequence[Tally]) -> dict[str, dict[int, list[float]]]:
    curves: dict[str, dict[int, list[float]]] = {}
    for tally in tallies:
        levels = curves.setdefault(tally.who, {level: [] for level in LEVELS})
        for level in LEVELS:
            levels[level].append(tally.notes[str(level)])
    return curves


def _rises(differences: Sequence[float]) -> bool:
    """Return whether the mean difference is significantly above 0."""
    return bool(differences) and confidence_interval(differences)[0] > 0
