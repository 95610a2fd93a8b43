"""Plays one episode on an engine and records it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from companyos.contract import Outcome, ResetOptions
from companyos.policies import EpisodeOverError, StepView, TaskView
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.policy_views import build_step_view, build_task_view
from companyos_gateway.engine.reward import DAMAGE_COST, MAX_DAMAGE, RewardLedger
from companyos_gateway.evaluation import Evidence, FinishDeclaration, Verdict
from companyos_gateway.scenarios import Instance
from companyos_players.player import Player
from companyos_shared.streams import Stream, digest

MAX_TRIES = 3
"""Maximum number of attempts at an episode that ends with an infrastructure error."""


@dataclass(frozen=True, kw_only=True)
class EpisodeResult:
    """One episode: player, instance and result.

    `verdict` is None after an infrastructure error. `player_error` is the exception that the player raised.
    """

    player: str
    seed: int
    chaos: int
    kinds: frozenset[str]
    outcome: Outcome
    return_: float
    steps: int
    max_steps: int
    digest: str
    verdict: Verdict | None = None
    player_error: str | None = None

    @property
    def success(self) -> bool:
        """Return whether the episode succeeded."""
        return self.outcome is Outcome.SUCCESS

    @property
    def place(self) -> str:
        """A description of the episode."""
        reason = self.player_error or self._failure
        result = str(self.outcome) if reason is None else f"{self.outcome}, {reason}"
        return f"{self.player}, seed {self.seed}, chaos {self.chaos}: {result}"

    @property
    def _failure(self) -> str | None:
        """The primary failed check with the expected and the found state, or the damaged entities."""
        if self.verdict is None or self.success:
            return None
        failed = next((check for check in self.verdict.checks if check.id == self.verdict.primary_failure), None)
        if failed is None or failed.mismatch is None:
            return f"damaged {', '.join(self.verdict.damage)}" if self.verdict.damage else None
        mismatch = failed.mismatch
        return f"{failed.id}: {mismatch.entity}: expected {mismatch.expected}, found {mismatch.found}"


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """One step, with the gateway's potential and total costs after it."""

    tool: str
    arguments: dict[str, Any]
    reward: float
    problem: str | None
    potential: float
    costs: float

    @property
    def is_carried_out(self) -> bool:
        """Return whether the call was executed, that is, not refused."""
        return self.problem is None


@dataclass(frozen=True, kw_only=True)
class RecordedEpisode:
    """An episode with its task, stored evidence, declaration and steps."""

    result: EpisodeResult
    instance: Instance
    stored: dict[str, Any]
    finish: FinishDeclaration | None
    step_records: tuple[StepRecord, ...] = field(repr=False)

    @property
    def evidence(self) -> Evidence:
        """The evidence, parsed from its stored form."""
        return Evidence.from_json(self.stored)


async def play(
    engine: EpisodeEngine,
    scenario: str,
    name: str,
    player: Player,
    *,
    seed: int,
    chaos: int,
    overrides: Mapping[str, float] | None = None,
) -> EpisodeResult:
    """Play one episode on an engine and free it. If the player stops early, the episode is finished as impossible."""
    options = ResetOptions(scenario=scenario, seed=seed, chaos=chaos, chaos_overrides=dict(overrides or {}))
    result, _, _ = await _play(engine, options, name, player)
    return result


async def record_episode(
    engine: EpisodeEngine,
    scenario: str,
    name: str,
    player: Player,
    *,
    seed: int,
    chaos: int,
    overrides: Mapping[str, float] | None = None,
) -> RecordedEpisode:
    """Play one episode and record it; an episode with an infrastructure error is repeated."""
    options = ResetOptions(scenario=scenario, seed=seed, chaos=chaos, chaos_overrides=dict(overrides or {}))
    for _ in range(MAX_TRIES):
        result, episode, step_records = await _play(engine, options, name, player)
        if result.outcome is not Outcome.INFRA_ERROR:
            break
    return RecordedEpisode(
        result=result,
        instance=episode.task.instance,
        stored=episode.evidence.as_json(),
        finish=episode.progress.finish,
        step_records=tuple(step_records),
    )


async def _play(
    engine: EpisodeEngine, options: ResetOptions, name: str, player: Player
) -> tuple[EpisodeResult, Episode, list[StepRecord]]:
    episode = await engine.reset(options)
    observed: list[Any] = [episode.first_observation().model_dump(mode="json")]
    step_records: list[StepRecord] = []

    async def call(tool: str, arguments: dict[str, Any], /) -> StepView:
        if episode.done:
            raise EpisodeOverError
        seen = await engine.step(episode, tool, arguments)
        observed.append(seen.model_dump())
        view = build_step_view(seen)
        ledger = episode.progress.ledger
        step_records.append(
            StepRecord(
                tool=tool,
                arguments=arguments,
                reward=view.reward,
                problem=view.error or view.problem,
                potential=ledger.potential,
                costs=_total_costs(ledger),
            )
        )
        return view

    player_error = None
    try:
        await player(task_view(engine, episode), call)
    except EpisodeOverError:
        pass
    except Exception as error:  # noqa: BLE001  # the exception of a player is part of its result
        player_error = f"{type(error).__name__}: {error}"
    if not episode.done:
        await call("finish", {"outcome": "impossible", "summary": "The player gave up."})
    assert episode.outcome is not None
    verdict = None if episode.outcome is Outcome.INFRA_ERROR else episode.verdict()
    engine.store.free(episode)
    key = episode.task.key
    result = EpisodeResult(
        player=name,
        seed=key.seed,
        chaos=key.chaos,
        kinds=frozenset(str(injection.kind) for injection in episode.task.instance.injections),
        outcome=episode.outcome,
        return_=episode.progress.ledger.return_,
        steps=episode.step,
        max_steps=episode.task.instance.max_steps,
        digest=digest(observed),
        verdict=verdict,
        player_error=player_error,
    )
    return result, episode, step_records


def _total_costs(ledger: RewardLedger) -> float:
    return ledger.costs + min(MAX_DAMAGE, DAMAGE_COST * len(ledger.damaged))


def task_view(engine: EpisodeEngine, episode: Episode) -> TaskView:
    """Return the task of an episode, with a stream of random draws that depends on the task only."""
    key = episode.task.key
    return build_task_view(engine, episode, Stream("policy", "proof", key.scenario, key.seed, key.chaos))
