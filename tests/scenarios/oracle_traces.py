"""The privileged oracle's traces through a scenario, with all of its writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from companyos.policies import Call, StepView, TaskView
from companyos_gateway.chaos import Group, Kind, profile_for
from companyos_gateway.scenarios.blocks.chaos_draws import draw_chaos
from companyos_players.player import Player
from companyos_shared.streams import Stream
from tests.scenarios.engine import EpisodeSpec, PlayAll, planned
from verification.privileged.outcome_oracle import privileged_player
from verification.proof import RecordedEpisode

LEVEL = 2
NO_TRANSPORT_FAULTS = {kind.value: 0.0 for kind in Kind if kind.group is Group.TRANSPORT}
DETOURS = {Kind.RANDOM_REJECTION, Kind.INFORMATION_REQUEST, Kind.FAILED_PIPELINE, Kind.EXPIRED_CERTIFICATE}
"""Kinds that cause actions of the oracle on which its success does not depend."""

READS = ("get", "list", "search", "query")
MAX_SEEDS = 120
CLUTTER = {Kind.MISSING_PRIORITY, Kind.BLOCKED_TICKET}
"""Kinds that add work to the oracle's trace, in scenarios to which they apply."""

MAX_PLAIN = 6
"""Number of seeds without clutter after which a scenario counts as unaffected by it."""


@dataclass(frozen=True)
class OracleTrace:
    """A trace through one instance."""

    scenario: str
    seed: int
    kept: RecordedEpisode
    writes: tuple[tuple[str, dict[str, Any]], ...]

    def played_by(self, player: Player) -> EpisodeSpec:
        """Return an episode of another player on the same instance."""
        return _spec(self.scenario, self.seed, player)


def both_traces(play_all: PlayAll, scenario: str) -> list[OracleTrace]:
    """Return the traces through a feasible instance and one that must be refused, both without detours."""
    return [_walk(play_all, scenario, seed_of(scenario, is_refusal=one)) for one in (False, True)]


def seed_of(scenario: str, *, is_refusal: bool) -> int:
    """Return the first seed with that outcome and without detours; only candidates for that outcome are planned."""
    plain: list[int] = []
    for seed in range(MAX_SEEDS):
        chances = draw_chaos(Stream(scenario, seed), profile_for(LEVEL), {}, applicable=(), always=())
        if chances.must_refuse is not is_refusal:
            continue
        kinds = {injection.kind for injection in planned(scenario, seed, LEVEL).injections}
        if kinds & DETOURS:
            continue
        if is_refusal or kinds & CLUTTER:
            return seed
        plain.append(seed)
        if len(plain) == MAX_PLAIN:
            return plain[0]
    raise LookupError(f"{scenario}: no such seed below {MAX_SEEDS}")


def _walk(play_all: PlayAll, scenario: str, seed: int) -> OracleTrace:
    writes: list[tuple[str, dict[str, Any]]] = []

    async def privileged(_task: TaskView, call: Call) -> None:
        async def noted(tool: str, arguments: dict[str, Any], /) -> StepView:
            if tool.partition("_")[2].partition("_")[0] not in READS and tool != "wait":
                writes.append((tool, arguments))
            return await call(tool, arguments)

        await privileged_player(scenario)(seed, LEVEL, noted)

    return OracleTrace(scenario, seed, play_all([_spec(scenario, seed, privileged)])[0], tuple(writes))


def _spec(scenario: str, seed: int, player: Player) -> EpisodeSpec:
    return EpisodeSpec(scenario=scenario, player=player, seed=seed, chaos=LEVEL, overrides=NO_TRANSPORT_FAULTS)
