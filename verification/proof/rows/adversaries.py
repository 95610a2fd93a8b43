"""Row B: agents that do not do the work never succeed, and their returns are far below the fair oracle's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from companyos.contract import Outcome
from companyos_gateway.chaos import Kind
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_players.adaptive import ApproverSearcher, PrioritySearcher
from companyos_players.player import Player
from companyos_players.registry import adversaries_of, fair_player
from companyos_players.task_agnostic import TASK_AGNOSTIC, Fabricator, trace_imitators
from companyos_shared.streams import Stream
from verification.proof.bounds import CHANCE_CONFIDENCE, MAX_BY_CHANCE, MAX_FAILURE, MIN_GAP, PRIORITY_CHANCE
from verification.proof.chance import approver_chance, is_priority_judged
from verification.proof.episode_runner import EpisodeResult, record_episode
from verification.proof.players.hill_climbing import HillClimber
from verification.proof.players.late_refresh import is_late_refresh, late_refresher
from verification.proof.players.oracles import FAIR, steps_of
from verification.proof.rows.base import Job, Line, Row, Scope, Tally, group_tallies, summarize_violations
from verification.proof.statistics import confidence_interval, mean, most_successes

SUCCESSES = "task-agnostic agents never succeed"
BOUND = "no failing return above +4"
GAP = "every mean return is at least 10 below the fair oracle's"
CHEATED = "no adversary of a scenario succeeds"
CLIMBED = "hill climbing on the return finds neither success nor a failing return above +4"
BY_CHANCE = "the random policy succeeds in 0-2 % of tasks at level 1"
SEARCHED = "a search for the priority after a wrong guess never succeeds"
GUESSED = f"guessing the priority succeeds no more often than chance ({CHANCE_CONFIDENCE:.0%} bound)"
ASKED = f"asking person after person succeeds no more often than chance ({CHANCE_CONFIDENCE:.0%} bound)"
MEANS = "means"

PLAY, CHEAT, CLIMB, CHANCE, SEARCH = "play", "cheat", "climb", "chance", "search"
RANDOM = "random"
LATE = "submits stale values, then refreshes"
CLIMBER = "hill climber"
PRIORITY, ASKER = "searches the priority", "asks person after person"
FABRICATOR = "fabricates"
LONGEST_CLIMB_SCENARIO = "vendor_onboarding"
CLIMBED_LEVEL = CHANCE_LEVEL = 1
_CHUNK = 500
_FOREIGN = 10_007
"""Distance between a seed and the seed of the instance that supplies a foreign trace."""


class Adversaries(Row):
    """Task-agnostic agents, imitators and the adversaries of each scenario."""

    letter = "B"
    title = "Adversaries"

    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return a job for each instance and group of players, and hill climbs for each scenario."""
        size, scenarios = scope.size, scope.sampled("B")
        for scenario in scenarios:
            for level in size.levels:
                for part, seeds in (
                    (PLAY, size.task_agnostic_seeds),
                    (CHEAT, size.cheat_seeds),
                    (SEARCH, size.search_seeds),
                ):
                    for seed in scope.seeds(seeds):
                        yield Job(row="B", part=part, scope=scope, scenario=scenario, seed=seed, level=level, weight=5)
            for seed in scope.seeds(-(-size.random_episodes // len(scenarios))):
                yield Job(row="B", part=CHANCE, scope=scope, scenario=scenario, seed=seed, level=CHANCE_LEVEL)
            climbs = size.most_climbs if scenario == LONGEST_CLIMB_SCENARIO else size.climbs
            for seed in range(scope.first, scope.first + max(1, climbs // _CHUNK)):
                level, weight = CLIMBED_LEVEL, min(climbs, _CHUNK) / 10
                yield Job(row="B", part=CLIMB, scope=scope, scenario=scenario, seed=seed, level=level, weight=weight)

    async def work(self, engine: EpisodeEngine, job: Job) -> list[Tally]:
        """Run the players of a job."""
        if job.part == CLIMB:
            return await _climb(engine, job)
        if job.part == CHEAT:
            return await _cheat(engine, job)
        if job.part == CHANCE:
            return await _by_chance(engine, job)
        if job.part == SEARCH:
            return [*await _search_priority(engine, job), *await _search_approver(engine, job)]
        return await _play(engine, job)

    def lines(self, scope: Scope, tallies: Sequence[Tally]) -> list[Line]:
        """Return one line per guarantee."""
        lines = super().lines(scope, [tally for tally in tallies if tally.promise not in (MEANS, BY_CHANCE)])
        means = [tally for tally in tallies if tally.promise == MEANS]
        chance = [tally for tally in tallies if tally.promise == BY_CHANCE]
        lines += [self._gap_line(scope, means)] if means else []
        return [*lines, self._chance_line(scope, chance)] if chance else lines

    def line(self, scope: Scope, promise: str, tallies: Sequence[Tally]) -> Line:
        """Return the line of one guarantee."""
        line = super().line(scope, promise, tallies)
        if promise == BOUND:
            most = max((value for tally in tallies for value in tally.values), default=0.0)
            faults = [fault for tally in tallies for fault in tally.faults]
            result = f"highest {most:.1f}" + (f", {summarize_violations(faults)}" if faults else "")
            return self.make_line(scope, promise, line.n, result, holds=bool(line.holds))
        if promise in (GUESSED, ASKED):
            chances = [value for tally in tallies for value in tally.values]
            won, most = sum(len(tally.faults) for tally in tallies), most_successes(chances, CHANCE_CONFIDENCE)
            result = f"{won} successes, {sum(chances):.1f} expected by chance, at most {most}"
            return self.make_line(scope, promise, line.n, result, holds=line.n > 0 and won <= most)
        return line

    def details(self, tallies: Sequence[Tally]) -> list[str]:
        """Return one line per player."""
        rows = ["| player | episodes | successes | mean return | highest failing return |", "|---|---|---|---|---|"]
        for who, group in group_tallies([tally for tally in tallies if tally.promise == MEANS], "who").items():
            values = [value for tally in group for value in tally.values]
            won = sum(int(tally.notes.get("successes", 0)) for tally in group)
            failing = max(tally.notes.get("failing", float("-inf")) for tally in group)
            rows.append(
                f"| {who} | {len(values)} | {won} | {sum(values) / len(values):.1f} | {_format_return(failing)} |"
            )
        return rows

    def _chance_line(self, scope: Scope, tallies: Sequence[Tally]) -> Line:
        """Return the random policy's success rate, the baseline for every agent."""
        values = [value for tally in tallies for value in tally.values]
        won, (low, high) = sum(tally.notes["successes"] for tally in tallies) / len(values), confidence_interval(values)
        result = f"{won:.1%}, mean return {mean(values):.2f} (95 % interval {low:.2f} to {high:.2f})"
        return self.make_line(scope, BY_CHANCE, len(values), result, holds=won <= MAX_BY_CHANCE)

    def _gap_line(self, scope: Scope, tallies: Sequence[Tally]) -> Line:
        """Compare each player's mean return in a scenario with the fair oracle's on the same tasks."""
        gaps: dict[tuple[str, str], float] = {}
        fair = {name: _mean(group) for name, group in _by_scenario(tallies, FAIR).items()}
        for who in group_tallies(tallies, "who"):
            if who != FAIR:
                for name, group in _by_scenario(tallies, who).items():
                    if name in fair:
                        gaps[name, who] = fair[name] - _mean(group)
        near = [f"{who} in {name}: {gap:.1f}" for (name, who), gap in gaps.items() if gap < MIN_GAP]
        least = min(gaps, key=lambda pair: gaps[pair])
        result = f"least gap {gaps[least]:.1f} ({least[1]}, {least[0]})" + (
            f"; {summarize_violations(near)}" if near else ""
        )
        n = sum(len(tally.values) for tally in tallies if tally.who != FAIR)
        return self.make_line(scope, GAP, n, result, holds=not near)


async def _play(engine: EpisodeEngine, job: Job) -> list[Tally]:
    scenario, seed, level = job.scenario, job.seed, job.level
    fair = fair_player(scenario)
    own = await record_episode(engine, scenario, FAIR, fair, seed=seed, chaos=level)
    foreign = await record_episode(engine, scenario, FAIR, fair, seed=seed + _FOREIGN, chaos=level)
    stream = Stream("proof", "zoo", scenario, seed, level)
    players: dict[str, Player] = {
        **TASK_AGNOSTIC,
        **trace_imitators(steps_of(own.step_records), steps_of(foreign.step_records), stream),
    }
    tallies = [_means(scenario, FAIR, [own.result])]
    for name, player in players.items():
        played = (await record_episode(engine, scenario, name, player, seed=seed, chaos=level)).result
        tallies += _counted(SUCCESSES, scenario, name, [played])
    fabricator = Fabricator(fair)
    played = (await record_episode(engine, scenario, FABRICATOR, fabricator.play, seed=seed, chaos=level)).result
    if fabricator.invented:
        tallies += _counted(SUCCESSES, scenario, FABRICATOR, [played])
    return tallies


async def _cheat(engine: EpisodeEngine, job: Job) -> list[Tally]:
    adversaries = adversaries_of(job.scenario)
    tallies: list[Tally] = []
    for name, adversary in adversaries.players.items():
        played = (await record_episode(engine, job.scenario, name, adversary, seed=job.seed, chaos=job.level)).result
        required_chaos = adversaries.required_chaos.get(name)
        if required_chaos is None or required_chaos in played.kinds:
            tallies += _counted(CHEATED, job.scenario, name, [played])[:2]
    return [*tallies, *await _refresh_late(engine, job)]


async def _refresh_late(engine: EpisodeEngine, job: Job) -> list[Tally]:
    """Play the adversary that submits a stale value and refreshes it while the request is pending."""
    late, stale = late_refresher(job.scenario), {Kind.STALE_METRIC.value: 1.0}
    if late is None:
        return []
    kept = await record_episode(engine, job.scenario, LATE, late, seed=job.seed, chaos=job.level, overrides=stale)
    return _counted(CHEATED, job.scenario, LATE, [kept.result])[:2] if is_late_refresh(kept.step_records) else []


async def _search_priority(engine: EpisodeEngine, job: Job) -> list[Tally]:
    """Play agents that guess the priority, once starting with a wrong guess and once at random, if it is judged."""
    tallies: list[Tally] = []
    for promise, starts_wrong, chances in ((SEARCHED, True, ()), (GUESSED, False, (PRIORITY_CHANCE,))):
        searcher = PrioritySearcher(fair_player(job.scenario), start_wrong=starts_wrong)
        kept = await record_episode(engine, job.scenario, PRIORITY, searcher.play, seed=job.seed, chaos=job.level)
        if searcher.key is None or not is_priority_judged(kept, searcher.key):
            break
        tallies += _searched(promise, job, kept.result, chances)
    return tallies


async def _search_approver(engine: EpisodeEngine, job: Job) -> list[Tally]:
    """Play an agent that submits a request to people in random order until one is accepted."""
    searcher = ApproverSearcher(fair_player(job.scenario))
    kept = await record_episode(engine, job.scenario, ASKER, searcher.play, seed=job.seed, chaos=job.level)
    if searcher.first is None:
        return []
    return _searched(ASKED, job, kept.result, (approver_chance(kept.instance, searcher.first, searcher.people),))


def _searched(promise: str, job: Job, played: EpisodeResult, chances: tuple[float, ...]) -> list[Tally]:
    found, bound = _counted(promise, job.scenario, played.player, [played])[:2]
    return [replace(found, values=chances), bound]


async def _by_chance(engine: EpisodeEngine, job: Job) -> list[Tally]:
    played = (
        await record_episode(engine, job.scenario, RANDOM, TASK_AGNOSTIC[RANDOM], seed=job.seed, chaos=job.level)
    ).result
    notes = {"successes": float(played.success)}
    return [Tally(promise=BY_CHANCE, n=1, scenario=job.scenario, values=(played.return_,), notes=notes)]


async def _climb(engine: EpisodeEngine, job: Job) -> list[Tally]:
    scenario, seed, level = job.scenario, job.seed, job.level
    size = job.scope.size
    evaluations = size.most_climbs if scenario == LONGEST_CLIMB_SCENARIO else size.climbs
    foreign = await record_episode(engine, scenario, FAIR, fair_player(scenario), seed=seed + _FOREIGN, chaos=level)
    climber = HillClimber(engine, scenario, seed=seed, chaos=level, foreign=steps_of(foreign.step_records))
    return _counted(CLIMBED, scenario, CLIMBER, await climber.climb(min(evaluations, _CHUNK)))


def _counted(promise: str, scenario: str, who: str, played: Sequence[EpisodeResult]) -> list[Tally]:
    """Count successes, and returns of failed episodes above the bound."""
    won = tuple(f"{scenario}: {one.place}" for one in played if one.success)
    lost = [episode for episode in played if not episode.success and episode.outcome is not Outcome.INFRA_ERROR]
    high = tuple(f"{scenario}: {one.place} {one.return_:.1f}" for one in lost if one.return_ > MAX_FAILURE)
    most = (max(item.return_ for item in lost),) if lost else ()
    return [
        Tally(promise=promise, n=len(played), scenario=scenario, who=who, faults=won),
        Tally(promise=BOUND, n=len(lost), scenario=scenario, who=who, faults=high, values=most),
        _means(scenario, who, played),
    ]


def _means(scenario: str, who: str, played: Sequence[EpisodeResult]) -> Tally:
    failing = max((episode.return_ for episode in played if not episode.success), default=float("-inf"))
    notes = {"successes": float(sum(episode.success for episode in played)), "failing": failing}
    values = tuple(episode.return_ for episode in played)
    return Tally(promise=MEANS, n=len(played), scenario=scenario, who=who, values=values, notes=notes)


def _by_scenario(tallies: Sequence[Tally], who: str) -> dict[str, list[Tally]]:
    return group_tallies([tally for tally in tallies if tally.who == who], "scenario")


def _mean(tallies: Sequence[Tally]) -> float:
    return mean([value for tally in tallies for value in tally.values])


def _format_return(failing: float) -> str:
    return "none failed" if failing == float("-inf") else f"{failing:.1f}"
