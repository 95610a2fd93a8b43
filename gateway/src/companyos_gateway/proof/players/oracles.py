"""The oracles as players, and what they do as a trace that others can repeat or bend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from companyos.policies import Call, TaskView
from companyos_gateway.chaos import Group, Kind, profile_for
from companyos_gateway.episode.environment import Stage
from companyos_gateway.proof.playing import Act, Kept, Player, keep
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.parts.staging import draw_chances
from companyos_gateway.scenarios.solutions import solutions_of
from companyos_shared.streams import Stream

FAIR, CLAIRVOYANT = "fair", "clairvoyant"
READS = frozenset({"get", "list", "search", "query"})
NO_SERVICE = frozenset({"wait", "finish"})
BENT_LEVEL = 2
"""The level at which ends are bent: the lowest with work that must be refused."""

STRAIGHT: Mapping[str, float] = {kind.value: 0.0 for kind in Kind if kind.group is Group.TRANSPORT}
"""Overrides without a bad connection, which would make an oracle do what its success does not hang on."""

_DETOURS = frozenset({Kind.RANDOM_REJECTION, Kind.INFORMATION_REQUEST, Kind.FAILED_PIPELINE, Kind.EXPIRED_CERTIFICATE})
"""Kinds that make an oracle do such things as well."""

_MOST_SEEDS = 1_000
FEASIBLE, REFUSED = "feasible", "refused"
OUTCOMES = (FEASIBLE, REFUSED)

Step = tuple[str, dict[str, Any]]


def fair_of(scenario: str) -> Player:
    """Return the fair oracle of a scenario."""
    return solutions_of(scenario).fair


def clairvoyant_of(scenario: str, seed: int, level: int) -> Player:
    """Return the oracle that knows one instance."""

    async def clairvoyant(_task: TaskView, call: Call) -> None:
        await solutions_of(scenario).clairvoyant(seed, level, call)

    return clairvoyant


async def straight_way(stage: Stage, scenario: str, seed: int, level: int = BENT_LEVEL) -> Kept:
    """Play the clairvoyant oracle where nothing leads it astray, and keep what it leaves."""
    player = clairvoyant_of(scenario, seed, level)
    return await keep(stage, scenario, CLAIRVOYANT, player, seed=seed, chaos=level, overrides=STRAIGHT)


def is_write(tool: str) -> bool:
    """Say whether a tool writes."""
    return tool not in NO_SERVICE and tool.partition("_")[2].partition("_")[0] not in READS


def steps_of(acts: Sequence[Act]) -> list[Step]:
    """Return what was called, in order."""
    return [(act.tool, act.arguments) for act in acts]


def replayed(steps: Sequence[Step]) -> Player:
    """Return a player that repeats steps, whatever is answered."""

    async def replay(_task: TaskView, call: Call) -> None:
        for tool, arguments in steps:
            await call(tool, arguments)

    return replay


def straight_seed(scenario: str, first: int, outcome: str) -> int:
    """Return the first seed with that outcome, at the level of bent ends, where nothing leads an oracle astray.

    Raises LookupError where there is none.
    """
    for seed in range(first, first + _MOST_SEEDS):
        chances = draw_chances(Stream(scenario, seed), profile_for(BENT_LEVEL), {}, applicable=(), always=())
        if chances.must_refuse is not (outcome == REFUSED):
            continue
        struck = {injection.kind for injection in catalogue()[scenario].plan(seed, BENT_LEVEL).injections}
        if not struck & _DETOURS:
            return seed
    raise LookupError(f"{scenario}: no seed from {first} on is {outcome}")
