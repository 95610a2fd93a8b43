"""Plays one episode on an engine and records it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

StepObserver = Callable[[Episode, str, dict[str, Any], StepView], None]


@dataclass(frozen=True, kw_only=True)
class EpisodeResult:
    """One episode: player, instance and result.

    `failure` is the primary failed check, if it failed. `player_error` is the exception that the player raised.
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
    failure: str | None = None
    player_error: str | None = None

    @property
    def success(self) -> bool:
        """Return whether the episode succeeded."""
        return self.outcome is Outcome.SUCCESS

    @property
    def place(self) -> str:
        """A description of the episode."""
        reason = self.player_error or self.failure
        result = str(self.outcome) if reason is None else f"{self.outcome}, {reason}"
        return f"{self.player}, seed {self.seed}, chaos {self.chaos}: {result}"


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
    on_step: StepObserver | None = None,
    on_end: Callable[[Episode], None] | None = None,
) -> EpisodeResult:
    """Play one episode on an engine and free it. If the player stops early, the episode is finished as impossible."""
    options = ResetOptions(scenario=scenario, seed=seed, chaos=chaos, chaos_overrides=dict(overrides or {}))
    episode = await engine.reset(options)
    observed: list[Any] = [episode.first_observation().model_dump(mode="json")]

    async def call(tool: str, arguments: dict[str, Any], /) -> StepView:
        if episode.done:
            raise EpisodeOverError
        seen = await engine.step(episode, tool, arguments)
        observed.append(seen.model_dump())
        view = build_step_view(seen)
        if on_step is not None:
            on_step(episode, tool, arguments, view)
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
    if on_end is not None:
        on_end(episode)
    failure = (
        None if episode.outcome in (Outcome.SUCCESS, Outcome.INFRA_ERROR) else _describe_failure(episode.verdict())
    )
    engine.store.free(episode)
    return EpisodeResult(
        player=name,
        seed=seed,
        chaos=chaos,
        kinds=frozenset(str(injection.kind) for injection in episode.task.instance.injections),
        outcome=episode.outcome,
        return_=episode.progress.ledger.return_,
        steps=episode.step,
        max_steps=episode.task.instance.max_steps,
        digest=digest(observed),
        failure=failure,
        player_error=player_error,
    )


def _describe_failure(verdict: Verdict) -> str | None:
    """Return the primary failed check with the expected and the found state, or the damaged entities."""
    failed = next((check for check in verdict.checks if check.id == verdict.primary_failure), None)
    if failed is None or failed.mismatch is None:
        return f"damaged {', '.join(verdict.damage)}" if verdict.damage else None
    mismatch = failed.mismatch
    return f"{failed.id}: {mismatch.entity}: expected {mismatch.expected}, found {mismatch.found}"


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
    for _ in range(MAX_TRIES):
        step_records: list[StepRecord] = []
        ended: list[Episode] = []

        def on_step(
            episode: Episode,
            tool: str,
            arguments: dict[str, Any],
            view: StepView,
            step_records: list[StepRecord] = step_records,
        ) -> None:
            step_records.append(
                StepRecord(
                    tool=tool,
                    arguments=arguments,
                    reward=view.reward,
                    problem=view.error or view.problem,
                    potential=episode.progress.ledger.potential,
                    costs=_total_costs(episode.progress.ledger),
                )
            )

        result = await play(
            engine,
            scenario,
            name,
            player,
            seed=seed,
            chaos=chaos,
            overrides=overrides,
            on_step=on_step,
            on_end=ended.append,
        )
        if result.outcome is not Outcome.INFRA_ERROR:
            break
    episode = ended[0]
    return RecordedEpisode(
        result=result,
        instance=episode.task.instance,
        stored=episode.evidence.as_json(),
        finish=episode.progress.finish,
        step_records=tuple(step_records),
    )


def _total_costs(ledger: RewardLedger) -> float:
    return ledger.costs + min(MAX_DAMAGE, DAMAGE_COST * len(ledger.damaged))


def task_view(engine: EpisodeEngine, episode: Episode) -> TaskView:
    """Return the task of an episode, with a stream of random draws that depends on the task only."""
    key = episode.task.key
    return build_task_view(engine, episode, Stream("policy", "proof", key.scenario, key.seed, key.chaos))
