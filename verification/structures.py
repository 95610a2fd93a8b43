"""Structures of a scenario's instances: variants of those that can be done, and reason codes of the others."""

from __future__ import annotations

from companyos_gateway.scenarios import Scenario
from companyos_gateway.scenarios.blocks.declared_scenario import DeclaredScenario
from companyos_gateway.scenarios.catalogue import ScenarioError
from companyos_gateway.scenarios.validation import build_task
from verification.proof.players.oracles import MUTATION_LEVEL

STRUCTURE_LEVEL = MUTATION_LEVEL
"""Chaos level of the instances: the lowest at which some must be refused."""

SEARCHED_SEEDS = 300
"""Number of seeds that are searched. Every structure of the built-in scenarios occurs among the first 40."""


def first_seeds(scenario: Scenario) -> dict[str, int]:
    """Return the first seed of each structure that occurs, such as `renewal` or `refused: policy_violation`.

    Raises ScenarioError for a seed that cannot be staged, and for a variant in `held_out` that does not occur.
    """
    seeds: dict[str, int] = {}
    for seed in range(SEARCHED_SEEDS):
        seeds.setdefault(_structure(scenario, seed), seed)
    for variant in sorted(scenario.held_out - seeds.keys()):
        reason = f"no instance of the first {SEARCHED_SEEDS} seeds has the variant {variant!r}"
        raise ScenarioError(f"{scenario.name}/scenario.py: held_out: {reason}; there are {', '.join(sorted(seeds))}")
    return seeds


def _structure(scenario: Scenario, seed: int) -> str:
    if not isinstance(scenario, DeclaredScenario):
        return scenario.plan(seed, STRUCTURE_LEVEL).variant
    case = build_task(scenario.name, scenario, seed).case
    return f"refused: {case.refusal.code}" if case.refusal else str(case.variant)
