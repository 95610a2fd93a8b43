"""Row D: rewards are differences in potential minus small costs, and returns are bounded for success and failure."""

from __future__ import annotations

from collections.abc import Iterable

from companyos.contract import Outcome, ResetOptions, RewardScale, Shaping
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.errors import EpisodeDoneError
from companyos_gateway.engine.reward import (
    FAILURE_COST,
    MAX_COSTS,
    MAX_DAMAGE,
    REWARD_BOUND,
    SUCCESS_REWARD,
    RewardLedger,
)
from companyos_players.registry import adversaries_of, fair_player
from companyos_players.task_agnostic import TASK_AGNOSTIC
from companyos_shared.streams import Stream
from verification.proof.bounds import MAX_FAILURE, MIN_SUCCESS
from verification.proof.episode_runner import RecordedEpisode, record_episode
from verification.proof.final_states.final_state import FinalState
from verification.proof.players.oracles import FAIR
from verification.proof.reward_fuzz import enter_drawn_steps
from verification.proof.rows.base import Job, Row, Scope, Tally

TELESCOPES = "milestone payments sum to the potential's difference (error < 1e-9)"
RECOMPUTED = "the potential paid online equals the one recomputed from that step's evidence"
CYCLES = "a closed cycle of states costs"
RANGE = "every reward is in [-25, 25], every unit reward in [-1, 1]"
BOUNDS = "random traces: failing <= +4, success >= +7, costs <= 8, damage <= 4"
OVER = "nothing is paid after the end"

_LEVEL = 2
_TOLERANCE = 1e-9
_TRACES_PER_JOB = 250
_PLAYERS = ("does and undoes", "random", "closes everything")
_MAX_CHEATS = 4
_EVERY = 15


class Reward(Row):
    """Properties of rewards in played episodes and random traces."""

    letter = "D"
    title = "Reward properties"

    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return a job for each scenario, and for each batch of random traces."""
        for scenario in scope.sampled("D"):
            yield Job(row="D", part="played", scope=scope, scenario=scenario, seed=scope.first, level=_LEVEL, weight=4)
        for seed in range(scope.first, scope.first + max(1, scope.size.random_traces // _TRACES_PER_JOB)):
            yield Job(row="D", part="drawn", scope=scope, seed=seed)

    async def work(self, engine: EpisodeEngine, job: Job) -> list[Tally]:
        """Check played episodes or random traces."""
        return _drawn(job) if job.part == "drawn" else await _played(engine, job)


async def _played(engine: EpisodeEngine, job: Job) -> list[Tally]:
    scenario = job.scenario
    adversaries = dict(list(adversaries_of(scenario).players.items())[:_MAX_CHEATS])
    players = {FAIR: fair_player(scenario), **{name: TASK_AGNOSTIC[name] for name in _PLAYERS}, **adversaries}
    tallies: list[Tally] = []
    for name, player in players.items():
        kept = await record_episode(engine, scenario, name, player, seed=job.seed, chaos=job.level)
        if kept.result.outcome is not Outcome.INFRA_ERROR:
            tallies += [_telescoping(kept), _recomputed(kept), _cycles(kept), _range(kept)]
    return [*tallies, await _after_the_end(engine, job)]


def _telescoping(kept: RecordedEpisode) -> Tally:
    """Check that the return without costs and final payment equals the difference in potential."""
    last = kept.step_records[-1]
    at_the_end = SUCCESS_REWARD if kept.result.success else -FAILURE_COST
    milestones = kept.result.return_ - at_the_end + last.costs
    error = abs(milestones - (last.potential - _potential_at(kept, 0, is_last=True)))
    faults = () if error < _TOLERANCE else (f"{kept.instance.scenario}: {kept.result.place}: {error}",)
    return Tally(promise=TELESCOPES, n=1, faults=faults)


def _recomputed(kept: RecordedEpisode) -> Tally:
    faults = []
    checked_steps = [step for step in range(1, len(kept.step_records) + 1) if _is_checked(kept, step)]
    for step in checked_steps:
        act = kept.step_records[step - 1]
        recomputed = _potential_at(kept, step, is_last=step == len(kept.step_records))
        if abs(recomputed - act.potential) > _TOLERANCE:
            faults.append(f"{kept.instance.scenario}: {kept.result.place}: step {step}: {act.potential} {recomputed}")
    return Tally(promise=RECOMPUTED, n=len(checked_steps), faults=tuple(faults))


def _is_checked(kept: RecordedEpisode, step: int) -> bool:
    """Return whether the potential is recomputed at a step: after a change, at the end and at intervals."""
    is_now_and_then = step % _EVERY == 0 or step == len(kept.step_records)
    return is_now_and_then or kept.step_records[step - 1].potential != kept.step_records[step - 2].potential


def _potential_at(kept: RecordedEpisode, step: int, *, is_last: bool) -> float:
    """Return the potential after a step: milestones paid at the end count as at the start before the last step."""
    rubric, final_state, first = kept.instance.rubric, FinalState(kept), FinalState(kept)
    final_state.cut(step)
    first.cut(0)
    evidence = final_state.evidence()
    at_end = rubric.potential(evidence if is_last else first.evidence(), at_end=True)
    return rubric.potential(evidence, at_end=False) + at_end


def _cycles(kept: RecordedEpisode) -> Tally:
    """Check that returning to an earlier potential has a cost, until the maximum costs are reached."""
    faults: list[str] = []
    seen: dict[float, float] = {}
    total, n = 0.0, 0
    for step, act in enumerate(kept.step_records[:-1], start=1):
        total = round(total + act.reward, 9)
        if act.costs >= MAX_COSTS:
            break
        if act.potential in seen:
            n += 1
            if total >= seen[act.potential]:
                faults.append(f"{kept.instance.scenario}: {kept.result.place}: step {step}")
        seen[act.potential] = total
    return Tally(promise=CYCLES, n=n, faults=tuple(faults))


def _range(kept: RecordedEpisode) -> Tally:
    bad = [act.reward for act in kept.step_records if not -REWARD_BOUND <= act.reward <= REWARD_BOUND]
    return Tally(
        promise=RANGE, n=len(kept.step_records), faults=tuple(f"{kept.result.place}: {reward}" for reward in bad)
    )


async def _after_the_end(engine: EpisodeEngine, job: Job) -> Tally:
    episode = await engine.reset(ResetOptions(scenario=job.scenario, seed=job.seed, chaos=job.level))
    await engine.step(episode, "finish", {"outcome": "done", "summary": ""})
    before = episode.progress.ledger.return_
    faults: tuple[str, ...] = (f"{job.scenario}: a step was taken after the end",)
    try:
        await engine.step(episode, "wait", {"minutes": 5})
    except EpisodeDoneError:
        faults = () if episode.progress.ledger.return_ == before else (f"{job.scenario}: paid after the end",)
    engine.store.free(episode)
    return Tally(promise=OVER, n=1, faults=faults)


def _drawn(job: Job) -> list[Tally]:
    bounds: list[str] = []
    ranges: list[str] = []
    steps = 0
    for number in range(_TRACES_PER_JOB):
        stream = Stream("proof", "ledger", job.seed, number)
        scale = stream.choice(list(RewardScale))
        ledger = RewardLedger(stream.choice(list(Shaping)), scale)
        rewards, outcome = enter_drawn_steps(ledger, stream)
        steps += len(rewards)
        bound = 1.0 if scale is RewardScale.UNIT else REWARD_BOUND
        if any(not -bound <= reward <= bound for reward in rewards):
            ranges.append(f"trace {job.seed}.{number}")
        unit = REWARD_BOUND if scale is RewardScale.UNIT else 1.0
        if not _is_bounded(ledger, outcome, ledger.return_ * unit):
            bounds.append(f"trace {job.seed}.{number}: {outcome} {ledger.return_:.2f}")
    return [
        Tally(promise=BOUNDS, n=_TRACES_PER_JOB, faults=tuple(bounds)),
        Tally(promise=RANGE, n=steps, faults=tuple(ranges)),
    ]


def _is_bounded(ledger: RewardLedger, outcome: Outcome, return_: float) -> bool:
    if ledger.shaping is Shaping.NONE:
        return return_ in (REWARD_BOUND, -5.0)
    within = ledger.costs <= MAX_COSTS + 1e-6 and min(MAX_DAMAGE, 2.0 * len(ledger.damaged)) <= MAX_DAMAGE
    if outcome is Outcome.SUCCESS:
        return within and return_ >= min(MIN_SUCCESS, SUCCESS_REWARD - MAX_COSTS) - 1e-6
    return within and return_ <= MAX_FAILURE + 1e-6
