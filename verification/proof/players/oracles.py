"""The oracles as players, and their recorded episodes for replay and mutation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from companyos.policies import Call, TaskView
from companyos_gateway.chaos import Group, Kind, profile_for
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.blocks.chaos_draws import draw_chaos
from companyos_players.player import Player, Step
from companyos_players.registry import fair_player
from companyos_shared.streams import Stream
from verification.privileged.outcome_oracle import privileged_player
from verification.proof.episode_runner import RecordedEpisode, StepRecord, record_episode

FAIR, PRIVILEGED = "fair", "privileged"
MUTATION_LEVEL = 2
"""The level of mutated episodes: the lowest at which instances must be refused."""

NO_TRANSPORT_FAULTS: Mapping[str, float] = {kind.value: 0.0 for kind in Kind if kind.group is Group.TRANSPORT}
"""Overrides that disable transport faults, because these cause steps on which success does not depend."""

_DETOURS = frozenset({Kind.RANDOM_REJECTION, Kind.INFORMATION_REQUEST, Kind.FAILED_PIPELINE, Kind.EXPIRED_CERTIFICATE})
"""Chaos kinds that also cause such steps."""

_MAX_SEEDS = 1_000
FEASIBLE, REFUSED = "feasible", "refused"
OUTCOMES = (FEASIBLE, REFUSED)


def privileged_oracle(scenario: str, seed: int, level: int) -> Player:
    """Return the oracle that knows one instance."""

    async def privileged(_task: TaskView, call: Call) -> None:
        await privileged_player(scenario)(seed, level, call)

    return privileged


async def undisturbed_trace(engine: EpisodeEngine, scenario: str, seed: int) -> RecordedEpisode:
    """Play the privileged oracle at the mutation level without transport faults, and record it."""
    player = privileged_oracle(scenario, seed, MUTATION_LEVEL)
    return await record_episode(
        engine, scenario, PRIVILEGED, player, seed=seed, chaos=MUTATION_LEVEL, overrides=NO_TRANSPORT_FAULTS
    )


async def undisturbed_fair_trace(engine: EpisodeEngine, scenario: str, seed: int) -> RecordedEpisode:
    """Play the fair oracle at the mutation level without transport faults, and record it."""
    player = fair_player(scenario)
    return await record_episode(
        engine, scenario, FAIR, player, seed=seed, chaos=MUTATION_LEVEL, overrides=NO_TRANSPORT_FAULTS
    )


def steps_of(step_records: Sequence[StepRecord]) -> list[Step]:
    """Return the calls in order."""
    return [(act.tool, act.arguments) for act in step_records]


def undisturbed_seed(scenario: str, first: int, outcome: str) -> int:
    """Return the first seed with an outcome at the mutation level and without detours.

    Raises LookupError if there is none.
    """
    for seed in range(first, first + _MAX_SEEDS):
        chances = draw_chaos(Stream(scenario, seed), profile_for(MUTATION_LEVEL), {}, applicable=(), always=())
        if chances.must_refuse is not (outcome == REFUSED):
            continue
        affected = {injection.kind for injection in catalogue()[scenario].plan(seed, MUTATION_LEVEL).injections}
        if not affected & _DETOURS:
            return seed
    raise LookupError(f"{scenario}: no seed from {first} on is {outcome}")
