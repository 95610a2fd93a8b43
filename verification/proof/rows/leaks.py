"""Row F: hidden data never occurs in the text that an agent can read. Every hidden field contains a canary."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from companyos.policies import Call, StepView, TaskView
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.evaluation import CheckResult, Evidence, FinishDeclaration, Standing, TaskRubric, Verdict
from companyos_gateway.scenarios import Instance, Scenario
from companyos_players.player import Player
from companyos_players.registry import fair_player
from companyos_players.task_agnostic import TASK_AGNOSTIC
from companyos_shared.streams import digest
from verification.proof.episode_runner import play
from verification.proof.players.oracles import FAIR
from verification.proof.rows.base import Job, Row, Scope, Tally

LEAKED = "no canary of ground truth, plan, seed or check names occurs in any byte that an agent receives"
SOLVED = "the fair oracle still solves an instance with canaries in it"

FUZZERS = ("random", "grounded random", "guesses tools", "sends malformed arguments")
_LEVELS = (1, 4)
_SEED_DIGITS = 15
"""Maximum number of digits of a canary seed, which must be a number that does not occur elsewhere."""


@dataclass(frozen=True)
class Canaries:
    """The canaries: one 128-bit word per hidden field, and the seed."""

    seed: int
    words: Mapping[str, str]

    @classmethod
    def of(cls, scenario: str, seed: int) -> Canaries:
        """Return the canaries of an instance."""
        fields = ("check", "finding", "damage", "variant", "injection", "entity")
        words = {name: digest(["canary", scenario, seed, name])[:32] for name in fields}
        return cls(int(digest(["canary seed", scenario, seed]), 16) % 10**_SEED_DIGITS, words)

    def found_in(self, text: str) -> list[str]:
        """Return the names of the canaries that occur in a text."""
        found = [name for name, word in self.words.items() if word in text]
        return [*found, *(["seed"] if str(self.seed) in text else [])]


class CanaryScenario:
    """A scenario whose instances have canaries in hidden fields."""

    def __init__(self, scenario: Scenario, canaries: Canaries) -> None:
        self.name = scenario.name
        self.held_out = scenario.held_out
        self._scenario = scenario
        self._words = canaries.words

    def plan(self, seed: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        """Plan the instance with canaries."""
        instance, words = self._scenario.plan(seed, chaos, overrides), self._words
        injections = tuple(
            replace(one, entity=f"{one.entity}{words['entity']}", detail={**one.detail, "canary": words["injection"]})
            for one in instance.injections
        )
        rubric = _CanaryRubric(instance.rubric, words)
        return replace(instance, variant=words["variant"], rubric=rubric, injections=injections)


class Leaks(Row):
    """Fuzzed and solved episodes, searched for canaries."""

    letter = "F"
    title = "No leaks"

    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return a job for each instance."""
        for scenario in scope.scenarios:
            for level in _LEVELS:
                for seed in scope.seeds(scope.size.leak_seeds):
                    yield Job(row="F", part="read", scope=scope, scenario=scenario, seed=seed, level=level, weight=4)

    async def work(self, engine: EpisodeEngine, job: Job) -> list[Tally]:
        """Play an instance with canaries, and search for them in everything that the players receive."""
        canaries, original = Canaries.of(job.scenario, job.seed), engine.task_cache.scenarios
        engine.task_cache.scenarios = {**original, job.scenario: CanaryScenario(original[job.scenario], canaries)}
        try:
            return await _read(engine, job, canaries)
        finally:
            engine.task_cache.scenarios = original


async def _read(engine: EpisodeEngine, job: Job, canaries: Canaries) -> list[Tally]:
    tallies = []
    for name, player in {FAIR: fair_player(job.scenario), **{name: TASK_AGNOSTIC[name] for name in FUZZERS}}.items():
        texts: list[str] = []
        reader = _recording_player(player, texts)
        result = await play(engine, job.scenario, name, reader, seed=canaries.seed, chaos=job.level)
        seen = sorted({word for text in texts for word in canaries.found_in(text)})
        faults = (f"{job.scenario} {name}: {', '.join(seen)}",) if seen else ()
        tallies.append(Tally(promise=LEAKED, n=len(texts), scenario=job.scenario, faults=faults))
        if name == FAIR:
            lost = () if result.success else (f"{job.scenario}: {result.place}",)
            tallies.append(Tally(promise=SOLVED, n=1, scenario=job.scenario, faults=lost))
    return tallies


def _recording_player(player: Player, texts: list[str]) -> Player:
    """Return a player that records everything it receives."""

    async def play_recorded(task: TaskView, call: Call) -> None:
        texts.append(f"{task.brief} {task.company} {task.acting_as} {task.now} {task.tools}")

        async def call_and_record(tool: str, arguments: dict[str, Any], /) -> StepView:
            view = await call(tool, arguments)
            texts.append(json.dumps([view.result, view.error, view.reward, str(view.now)], ensure_ascii=False))
            return view

        await player(task, call_and_record)

    return play_recorded


class _CanaryRubric(TaskRubric):
    """A rubric with canaries in its names and findings."""

    def __init__(self, rubric: TaskRubric, words: Mapping[str, str]) -> None:
        self.checks, self.milestones = rubric.checks, rubric.milestones
        self._rubric = rubric
        self._words = words

    def judge(self, evidence: Evidence, finish: FinishDeclaration | None) -> Verdict:
        """Return the verdict with canaries in check ids, findings and damage."""
        verdict, words = self._rubric.judge(evidence, finish), self._words
        checks = tuple(
            CheckResult(f"{one.id}_{words['check']}", one.mismatch and replace(one.mismatch, found=words["finding"]))
            for one in verdict.checks
        )
        return replace(verdict, checks=checks, damage=self._named(verdict.damage))

    def standing(self, evidence: Evidence) -> Standing:
        """Return the standing of the episode with canaries in its damage."""
        standing = self._rubric.standing(evidence)
        return replace(standing, damage=self._named(standing.damage))

    def _named(self, damage: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"{one}{self._words['damage']}" for one in damage)
