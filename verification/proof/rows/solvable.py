"""Row A: every instance can be solved, but only by doing the work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from companyos.contract import FinishOutcome
from companyos.policies.arguments import SamplingContext, ids_in, sample_arguments
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.evaluation import Evidence, FinishDeclaration
from companyos_players.player import Player, is_write, replay_of
from companyos_players.registry import fair_player
from companyos_shared.streams import Stream
from verification.proof.bounds import MIN_FAIR, MIN_SUCCESS, STEP_SHARE
from verification.proof.episode_runner import RecordedEpisode, record_episode
from verification.proof.final_states.final_state import FinalState
from verification.proof.final_states.mutations import is_between_states, required_causes
from verification.proof.players.oracles import (
    FAIR,
    MUTATION_LEVEL,
    NO_TRANSPORT_FAULTS,
    OUTCOMES,
    PRIVILEGED,
    privileged_oracle,
    steps_of,
    undisturbed_seed,
    undisturbed_trace,
)
from verification.proof.rows.base import Job, Line, Row, Scope, Tally, group_tallies

SUCCEEDS = "both oracles succeed in every instance"
STEPS = "p99 of the fair oracle's steps <= 70 % of the limit"
RETURNS = "least return: fair >= 12, privileged >= 7"
IDLE = "the initial state fails, whatever is declared"
SINGLE = "the initial state and any single call fails"
DROPPED = "without any one required write of the oracle's the end is rejected"
REPLAYED = "the oracle's trace played without one required write fails"

ORACLES = "oracles"


class Solvable(Row):
    """Both oracles solve every instance; partial work does not."""

    letter = "A"
    title = "Solvability"

    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return a job for each oracle instance, and one for the analysis of each outcome."""
        for scenario in scope.scenarios:
            for level in scope.size.levels:
                for seed in scope.seeds(scope.size.oracle_seeds):
                    yield Job(row="A", part=ORACLES, scope=scope, scenario=scenario, seed=seed, level=level)
            for outcome in OUTCOMES:
                first = scope.first
                yield Job(
                    row="A", part=outcome, scope=scope, scenario=scenario, seed=first, level=MUTATION_LEVEL, weight=9
                )

    async def work(self, engine: EpisodeEngine, job: Job) -> list[Tally]:
        """Run the oracles, or only part of their work."""
        return await (_oracles(engine, job) if job.part == ORACLES else _partial_work(engine, job))

    def line(self, scope: Scope, promise: str, tallies: Sequence[Tally]) -> Line:
        """Return the line of one guarantee."""
        n = sum(tally.n for tally in tallies)
        if promise == STEPS:
            shares = {name: _p99(group) for name, group in _by_scenario(tallies).items()}
            worst = max(shares, key=lambda name: shares[name])
            result = f"highest {shares[worst]:.0%} of the limit ({worst})"
            return self.make_line(scope, promise, n, result, holds=shares[worst] <= STEP_SHARE)
        if promise == RETURNS:
            fair = min(value for tally in tallies if tally.who == FAIR for value in tally.values)
            privileged = min(value for tally in tallies if tally.who == PRIVILEGED for value in tally.values)
            holds = fair >= MIN_FAIR and privileged >= MIN_SUCCESS
            return self.make_line(scope, promise, n, f"fair {fair:.1f}, privileged {privileged:.1f}", holds=holds)
        return super().line(scope, promise, tallies)

    def details(self, tallies: Sequence[Tally]) -> list[str]:
        """Return one line per scenario."""
        rows = [
            "| scenario | episodes of the oracles | successes | p99 of steps, share of the limit | least fair return |"
        ]
        rows.append("|---|---|---|---|---|")
        for name, group in _by_scenario(tallies).items():
            won = [tally for tally in group if tally.promise == SUCCEEDS]
            n, faults = sum(item.n for item in won), sum(len(item.faults) for item in won)
            steps = [tally for tally in group if tally.promise == STEPS]
            returns = [
                value for tally in group if tally.promise == RETURNS and tally.who == FAIR for value in tally.values
            ]
            if n and steps and returns:
                rows.append(f"| {name} | {n} | {n - faults} | {_p99(steps):.0%} | {min(returns):.1f} |")
        return rows


async def _oracles(engine: EpisodeEngine, job: Job) -> list[Tally]:
    players = {FAIR: fair_player(job.scenario), PRIVILEGED: privileged_oracle(job.scenario, job.seed, job.level)}
    tallies = []
    for name, player in players.items():
        result = (await record_episode(engine, job.scenario, name, player, seed=job.seed, chaos=job.level)).result
        faults = () if result.success else (f"{job.scenario}: {result.place}",)
        tallies.append(Tally(promise=SUCCEEDS, n=1, scenario=job.scenario, who=name, faults=faults))
        if name == FAIR:
            share = (result.steps / result.max_steps,)
            tallies.append(Tally(promise=STEPS, n=1, scenario=job.scenario, who=name, values=share))
        tallies.append(Tally(promise=RETURNS, n=1, scenario=job.scenario, who=name, values=(result.return_,)))
    return tallies


async def _partial_work(engine: EpisodeEngine, job: Job) -> list[Tally]:
    job = replace(job, seed=undisturbed_seed(job.scenario, job.seed, job.part))
    oracle_run = await undisturbed_trace(engine, job.scenario, job.seed)
    if not oracle_run.result.success:
        return [
            Tally(promise=SUCCEEDS, n=1, scenario=job.scenario, faults=(f"{job.scenario}: {oracle_run.result.place}",))
        ]
    return [
        _initial_state(job, oracle_run),
        await _single_calls(engine, job, oracle_run),
        _without_required_writes(job, oracle_run),
        await _replays(engine, job, oracle_run),
    ]


def _initial_state(job: Job, oracle_run: RecordedEpisode) -> Tally:
    """Judge the initial state under every possible declaration, including the oracle's."""
    declared: list[FinishDeclaration | None] = [None, oracle_run.finish]
    declared += [FinishDeclaration(outcome=outcome, summary="") for outcome in FinishOutcome]
    evidence = Evidence(oracle_run.stored["initial"])
    faults = [
        f"{job.scenario} seed {job.seed}: {one}"
        for one in declared
        if oracle_run.instance.rubric.judge(evidence, one).success
    ]
    return Tally(promise=IDLE, n=len(declared), scenario=job.scenario, faults=tuple(faults))


async def _single_calls(engine: EpisodeEngine, job: Job, oracle_run: RecordedEpisode) -> Tally:
    """Play each of the oracle's calls alone, and calls of random tools with ids from the oracle's calls."""
    calls = {repr(step): step for step in steps_of(oracle_run.step_records) if step[0] != "finish"}
    ids = ids_in(repr([arguments for _, arguments in calls.values()]))
    around = SamplingContext(ids, oracle_run.instance.started_at)
    offered, drawn = engine.tools(None), Stream("proof", "single", job.scenario, job.seed)
    for tool in drawn.child("tools").sample(offered, min(job.scope.size.single_tools, len(offered))):
        for number in range(job.scope.size.single_calls):
            stream = drawn.child(tool.name, number)
            step = tool.name, sample_arguments(tool.input_schema, stream, around)
            calls[repr(step)] = step
    faults = []
    for step in calls.values():
        player = replay_of([step])
        kept = await record_episode(
            engine, job.scenario, "single", player, seed=job.seed, chaos=job.level, overrides=NO_TRANSPORT_FAULTS
        )
        if kept.result.success:
            faults.append(f"{job.scenario} seed {job.seed}: {step[0]}")
    return Tally(promise=SINGLE, n=len(calls), scenario=job.scenario, faults=tuple(faults))


def _without_required_writes(job: Job, oracle_run: RecordedEpisode) -> Tally:
    """Remove the changes of each required write from the evidence."""
    causes = required_causes(oracle_run)
    faults = []
    for cause in causes:
        final_state = FinalState(oracle_run)
        final_state.drop(cause)
        if final_state.judge().success:
            faults.append(f"{job.scenario} seed {job.seed}: {cause}")
    if not causes:
        faults.append(f"{job.scenario} seed {job.seed}: the oracle has no required write")
    return Tally(promise=DROPPED, n=len(causes), scenario=job.scenario, faults=tuple(faults))


async def _replays(engine: EpisodeEngine, job: Job, oracle_run: RecordedEpisode) -> Tally:
    """Play the oracle's trace without one of its writes."""
    steps = steps_of(oracle_run.step_records)
    writes = [at for at, (tool, _) in enumerate(steps) if is_write(tool) and not is_between_states(oracle_run, at + 1)]
    stream = Stream("proof", "drops", job.scenario, job.seed)
    chosen = sorted(stream.sample(writes, min(job.scope.size.drops, len(writes))))
    faults = []
    for at in chosen:
        player: Player = replay_of([*steps[:at], *steps[at + 1 :]])
        kept = await record_episode(
            engine, job.scenario, "without", player, seed=job.seed, chaos=job.level, overrides=NO_TRANSPORT_FAULTS
        )
        if kept.result.success:
            faults.append(f"{job.scenario} seed {job.seed}: {steps[at][0]}")
    return Tally(promise=REPLAYED, n=len(chosen), scenario=job.scenario, faults=tuple(faults))


def _by_scenario(tallies: Sequence[Tally]) -> dict[str, list[Tally]]:
    return group_tallies(sorted(tallies, key=lambda item: item.scenario), "scenario")


def _p99(tallies: Sequence[Tally]) -> float:
    shares = sorted(value for tally in tallies for value in tally.values)
    return shares[min(len(shares) - 1, len(shares) * 99 // 100)]
