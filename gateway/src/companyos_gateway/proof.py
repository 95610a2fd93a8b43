"""The proof of the scenarios: oracles solve every instance, cheats none, and a seed is always the same episode.

`python -m companyos_gateway.proof --seeds 200` prints a table of every scenario and exits with 1 where a row does not
hold; `--scenario NAME` proves one of them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from companyos.contract import Outcome, ResetOptions, ToolSpec
from companyos.policies import Call, EpisodeOver, StepView, TaskView
from companyos_gateway.episode.environment import Stage
from companyos_gateway.episode.episode import Episode
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.solutions import Solutions, solutions_of
from companyos_gateway.server.house import House
from companyos_gateway.settings import Settings
from companyos_shared.streams import Stream, digest

PARALLEL = 8
FAIR, CLAIRVOYANT, AGAIN = "fair", "clairvoyant", "fair again"
MOST_TRIES = 3
"""How often an episode is played that the house, not the player, has lost."""

STEP_SHARE = 0.7
"""The fair oracle's p99 of steps lies within this share of the limit."""

LEAST_SUCCESS, LEAST_FAIR, MOST_FAILURE = 7.0, 12.0, 4.0
"""Bounds of returns: of any success, of the fair oracle's, of any failure."""

Player = Callable[[TaskView, Call], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Played:
    """One episode: who played what, and how it went. `trouble` says what the player broke on."""

    player: str
    seed: int
    chaos: int
    kinds: frozenset[str]
    outcome: Outcome
    return_: float
    steps: int
    max_steps: int
    digest: str
    trouble: str | None = None

    @property
    def success(self) -> bool:
        """Whether the episode was a success."""
        return self.outcome is Outcome.SUCCESS


async def play(
    stage: Stage,
    scenario: str,
    name: str,
    player: Player,
    *,
    seed: int,
    chaos: int,
    overrides: Mapping[str, float] | None = None,
    on_end: Callable[[Episode], None] | None = None,
) -> Played:
    """Play one episode on a stage and free it; a player that gives up finishes as a failure."""
    options = ResetOptions(scenario=scenario, seed=seed, chaos=chaos, chaos_overrides=dict(overrides or {}))
    episode = await stage.reset(options)
    observed: list[Any] = [episode.first_observation().model_dump(mode="json")]

    async def call(tool: str, arguments: dict[str, Any], /) -> StepView:
        if episode.done:
            raise EpisodeOver
        seen = await stage.step(episode, tool, arguments)
        observed.append(seen.model_dump())
        error = seen.error.error_type.value if seen.error is not None else None
        return StepView(
            result=seen.result,
            error=error,
            reward=float(seen.reward or 0.0),
            done=seen.done,
            now=seen.now,
            steps_left=seen.steps_left,
        )

    trouble = None
    try:
        await player(_task_view(stage, episode), call)
    except EpisodeOver:
        pass
    except Exception as error:  # noqa: BLE001  # what a player breaks on is part of the result
        trouble = f"{type(error).__name__}: {error}"
    if not episode.done:
        await call("finish", {"outcome": "impossible", "summary": "The player gave up."})
    assert episode.outcome is not None
    if on_end is not None:
        on_end(episode)
    stage.store.free(episode)
    return Played(
        player=name,
        seed=seed,
        chaos=chaos,
        kinds=frozenset(str(injection.kind) for injection in episode.task.instance.injections),
        outcome=episode.outcome,
        return_=episode.progress.ledger.return_,
        steps=episode.step,
        max_steps=episode.task.instance.max_steps,
        digest=digest(observed),
        trouble=trouble,
    )


@dataclass(frozen=True)
class Line:
    """One promise: what was claimed, over how many episodes, what came out, and whether it holds."""

    promise: str
    episodes: int
    result: str
    holds: bool


class Proof:
    """Plays everything that a scenario promises."""

    def __init__(
        self,
        stage: Stage,
        scenario: str,
        solutions: Solutions,
        *,
        seeds: range,
        levels: Sequence[int],
        cheat_seeds: int | None = None,
    ) -> None:
        self._stage = stage
        self._scenario = scenario
        self._solutions = solutions
        self._seeds = seeds
        self._levels = levels
        self._cheated = seeds if cheat_seeds is None else seeds[:cheat_seeds]
        self._gate = asyncio.Semaphore(PARALLEL)
        self._lost: list[Played] = []

    async def lines(self) -> list[Line]:
        """Play, and return a line for each promise."""
        grid = [(seed, chaos) for chaos in self._levels for seed in self._seeds]
        played: dict[str, list[Played]] = {}
        for episodes in await asyncio.gather(*(self._all_of(seed, chaos) for seed, chaos in grid)):
            for one in episodes:
                played.setdefault(one.player, []).append(one)
        lines = [*_oracle_lines(FAIR, played[FAIR]), *_oracle_lines(CLAIRVOYANT, played[CLAIRVOYANT])]
        lines.append(_again_line(played[FAIR], played[AGAIN]))
        needs = self._solutions.needs
        lines += [_cheat_line(name, played[name], needs.get(name)) for name in self._solutions.cheats]
        return [*lines, _lost_line(self._lost, [one for episodes in played.values() for one in episodes])]

    async def _all_of(self, seed: int, chaos: int) -> list[Played]:
        """Let everybody play one task, one after another: it is planned and planted once."""
        cheats = self._solutions.cheats if seed in self._cheated else {}
        players = {FAIR: self._solutions.fair, CLAIRVOYANT: self._knowing(seed, chaos), **cheats}
        async with self._gate:
            return [
                await self._played(name, player, seed, chaos)
                for name, player in [*players.items(), (AGAIN, self._solutions.fair)]
            ]

    async def _played(self, name: str, player: Player, seed: int, chaos: int) -> Played:
        """Play an episode; one that the house has lost is counted and played again."""
        for _ in range(MOST_TRIES):
            played = await play(self._stage, self._scenario, name, player, seed=seed, chaos=chaos)
            if played.outcome is not Outcome.INFRA_ERROR:
                break
            self._lost.append(played)
        return played

    def _knowing(self, seed: int, chaos: int) -> Player:
        async def player(_task: TaskView, call: Call) -> None:
            await self._solutions.clairvoyant(seed, chaos, call)

        return player


def _oracle_lines(name: str, played: Sequence[Played]) -> list[Line]:
    failed = [one for one in played if not one.success]
    steps = sorted(one.steps for one in played)
    p99, limit = steps[min(len(steps) - 1, len(steps) * 99 // 100)], played[0].max_steps
    least = min(one.return_ for one in played)
    wanted = LEAST_FAIR if name == FAIR else LEAST_SUCCESS
    told = "".join(f"; seed {one.seed} chaos {one.chaos}: {one.outcome} {one.trouble or ''}" for one in failed[:5])
    share = f"{len(played) - len(failed)}/{len(played)}{told}"
    return [
        Line(f"{name} oracle succeeds", len(played), share, not failed),
        Line(
            f"{name} oracle: p99 of steps",
            len(played),
            f"{p99} of {limit}, median {steps[len(steps) // 2]}",
            p99 <= STEP_SHARE * limit,
        ),
        Line(f"{name} oracle: least return", len(played), f"{least:.1f}, at least {wanted:.0f}", least >= wanted),
    ]


def _again_line(first: Sequence[Played], second: Sequence[Played]) -> Line:
    other = sum(1 for one, two in zip(first, second, strict=True) if one.digest != two.digest)
    return Line("same seed, same trajectory digest", len(first), f"{other} differ", other == 0)


def _cheat_line(name: str, played: Sequence[Played], needs: str | None) -> Line:
    counted = [one for one in played if needs is None or needs in one.kinds]
    won = [one for one in counted if one.success]
    most = max((one.return_ for one in counted if not one.success), default=0.0)
    mean = sum(one.return_ for one in counted) / max(1, len(counted))
    where = f" where {needs} struck" if needs else ""
    result = f"{len(won)} successes, mean return {mean:.1f}, highest failing {most:.1f}"
    return Line(f"{name} fails{where}", len(counted), result, bool(counted) and not won and most <= MOST_FAILURE)


def _lost_line(lost: Sequence[Played], played: Sequence[Played]) -> Line:
    for_good = sum(1 for one in played if one.outcome is Outcome.INFRA_ERROR)
    result = f"{len(lost)} infrastructure failures, {for_good} not made good by playing again"
    return Line("the house loses no episode for good", len(played), result, for_good == 0)


def _task_view(stage: Stage, episode: Episode) -> TaskView:
    first = episode.first_observation()
    key = episode.task.key
    return TaskView(
        scenario=key.scenario,
        brief=first.brief,
        company=first.company,
        acting_as=first.acting_as,
        now=first.now,
        steps_left=first.steps_left,
        tools=tuple(
            ToolSpec(name=tool.name, description=tool.description, input_schema=tool.input_schema)
            for tool in stage.tools(episode)
        ),
        stream=Stream("policy", "proof", key.scenario, key.seed, key.chaos),
    )


def table(lines: Sequence[Line]) -> str:
    """Return the lines as a table."""
    width = max(len(line.promise) for line in lines)
    rows = [f"{'yes' if one.holds else 'NO':4}{one.promise:{width}}  {one.episodes:6}  {one.result}" for one in lines]
    return "\n".join([f"{'':4}{'promise':{width}}  {'n':>6}  result", *rows, ""])


async def prove(scenario: str, *, seeds: range, levels: Sequence[int], cheat_seeds: int | None = None) -> list[Line]:
    """Bring up the services, play every promise of a scenario and return the lines.

    The cheats play the first `cheat_seeds` of the seeds, all of them where none are named.
    """
    house, solutions = House(Settings()), solutions_of(scenario)
    async with house.running():
        stage = house.stage()
        return await Proof(stage, scenario, solutions, seeds=seeds, levels=levels, cheat_seeds=cheat_seeds).lines()


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove scenarios from the command line; return 1 where a promise does not hold."""
    parser = argparse.ArgumentParser(prog="python -m companyos_gateway.proof", description=__doc__)
    names = sorted(catalogue())
    parser.add_argument("--scenario", choices=names, help="which scenario to prove (default: every one)")
    parser.add_argument("--seeds", type=int, default=20, help="how many seeds to play at each level")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--levels", default="0,1,2", help="chaos levels, by commas")
    parser.add_argument("--cheat-seeds", type=int, help="how many of the seeds the cheats play (default: all)")
    asked = parser.parse_args(arguments)
    levels = [int(level) for level in asked.levels.split(",")]
    seeds = range(asked.first, asked.first + asked.seeds)
    holds = True
    for scenario in [asked.scenario] if asked.scenario else names:
        lines = asyncio.run(prove(scenario, seeds=seeds, levels=levels, cheat_seeds=asked.cheat_seeds))
        sys.stdout.write(f"{scenario}\n{table(lines)}\n")
        sys.stdout.flush()
        holds = holds and all(line.holds for line in lines)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
