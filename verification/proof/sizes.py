"""Sizes of the proof: one for daily use and one for releases."""

from __future__ import annotations

from dataclasses import dataclass, replace

from companyos_gateway.chaos import levels

LEVELS = levels()


@dataclass(frozen=True, kw_only=True)
class Size:
    """Numbers of instances, episodes and mutations of each row, per scenario unless stated otherwise."""

    name: str
    sampled_scenarios: int
    """Maximum number of sampled scenarios in rows B to E and per kind in row G; the other rows use all scenarios."""

    levels: tuple[int, ...]
    """Chaos levels of rows A and B."""

    oracle_seeds: int
    cheat_seeds: int
    task_agnostic_seeds: int
    search_seeds: int
    """Seeds of the adaptive adversaries, per level."""

    climbs: int
    most_climbs: int
    """Evaluations of the hill climber, by default and in the first scenario."""

    single_calls: int
    """Calls per tool that are played alone, in addition to the oracle's own."""

    single_tools: int
    """Maximum number of sampled tools whose calls are played alone, per task."""

    drops: int
    """Writes that are removed from an oracle's trace, one at a time."""

    bent_seeds: int
    """Instances of each outcome whose final states are mutated."""

    channel_seeds: int
    """Instances of each outcome in which deciding facts are removed and shown by other tools and pages."""

    swaps: int
    mutants: int
    """Code mutants, for all scenarios together."""

    code_scenarios: int
    """Maximum number of sampled scenarios whose code is mutated. Mutants of shared code require all scenarios."""

    code_seeds: int
    """Instances per scenario and outcome whose final states the mutants are run against."""

    random_traces: int
    processes: int
    """Processes with rotating settings, besides those with high concurrency, restores or another Python."""

    crowd: int
    """Number of concurrent episodes in one process."""

    leak_seeds: int
    pairs: int
    """Paired seeds of the workers of row G."""

    kind_seeds: int
    """Seeds for each decisive chaos kind in each scenario."""

    friction_seeds: int
    """Seeds for each friction kind; 0 by default, because small or rare costs require many pairs."""

    fired_seeds: int
    """Seeds for which each kind is planned in each scenario to check whether it occurs."""

    random_episodes: int
    """Episodes of the random policy at level 1, in all scenarios together."""

    hashes: int

    plausible_instances: int
    """Instances checked by the plausibility linter, over all scenarios and levels."""

    shift_seeds: int
    """Shifts per size and level that the oracle plays."""

    ablation_seeds: int
    """Shifts per size and level for each agent that lacks an ability."""

    shift_adversary_seeds: int
    """Shifts per size and level for task-agnostic agents, adversaries and imitators of the oracle."""


SMOKE = Size(
    name="smoke",
    sampled_scenarios=8,
    levels=LEVELS[-1:],
    oracle_seeds=3,
    cheat_seeds=1,
    task_agnostic_seeds=1,
    search_seeds=1,
    climbs=20,
    most_climbs=100,
    single_calls=1,
    single_tools=6,
    drops=4,
    bent_seeds=1,
    channel_seeds=1,
    swaps=2,
    mutants=100,
    code_scenarios=1,
    code_seeds=4,
    random_traces=500,
    processes=2,
    crowd=17,
    leak_seeds=1,
    pairs=1,
    kind_seeds=1,
    friction_seeds=0,
    fired_seeds=1,
    random_episodes=50,
    hashes=20,
    plausible_instances=170,
    shift_seeds=1,
    ablation_seeds=10,
    shift_adversary_seeds=1,
)
FULL = Size(
    name="full",
    sampled_scenarios=1_000,
    levels=LEVELS,
    oracle_seeds=50,
    cheat_seeds=2,
    task_agnostic_seeds=3,
    search_seeds=20,
    climbs=1_000,
    most_climbs=10_000,
    single_calls=2,
    single_tools=1_000,
    drops=40,
    bent_seeds=4,
    channel_seeds=6,
    swaps=10,
    mutants=3_000,
    code_scenarios=1_000,
    code_seeds=4,
    random_traces=20_000,
    processes=20,
    crowd=256,
    leak_seeds=5,
    pairs=12,
    kind_seeds=10,
    friction_seeds=10,
    fired_seeds=20,
    random_episodes=1_000,
    hashes=500,
    plausible_instances=10_000,
    shift_seeds=67,
    ablation_seeds=10,
    shift_adversary_seeds=50,
)
CHECK = replace(SMOKE, name="check", levels=(2, 4), random_episodes=20, swaps=1, plausible_instances=50)
"""The size of `companyos check`, for one scenario."""

SIZES = {item.name: item for item in (SMOKE, FULL)}
