"""The clairvoyant oracle's ways through a scenario, with every write that it made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from companyos.policies import Call, StepView, TaskView
from companyos_gateway.chaos import Group, Kind
from companyos_gateway.scenarios.solutions import solutions_of
from tests.scenarios.plans import planned
from tests.scenarios.stage import Kept, Wanted, play_all

LEVEL = 2
CALM_WIRE = {kind.value: 0.0 for kind in Kind if kind.group is Group.TRANSPORT}
DETOURS = {Kind.RANDOM_REJECTION, Kind.INFORMATION_REQUEST, Kind.FAILED_PIPELINE, Kind.EXPIRED_CERTIFICATE}
"""Kinds that make the oracle do things that its success does not hang on."""

READS = ("get", "list", "search", "query")
MOST_SEEDS = 120


@dataclass(frozen=True)
class Way:
    """A way through one instance."""

    scenario: str
    seed: int
    kept: Kept
    writes: tuple[tuple[str, dict[str, Any]], ...]


def both_ways(folder: Path, scenario: str) -> list[Way]:
    """Return the ways through a feasible instance and one that must be refused, both without detours."""
    found: dict[bool, int] = {}
    for seed in range(MOST_SEEDS):
        instance = planned(scenario, seed, LEVEL)
        kinds = {injection.kind for injection in instance.injections}
        is_refusal = any(check.id == "ticket_cancelled" for check in instance.rubric.checks)
        if not kinds & DETOURS and (is_refusal or Kind.MISSING_PRIORITY in kinds or Kind.BLOCKED_TICKET in kinds):
            found.setdefault(is_refusal, seed)
        if len(found) == 2:
            break
    ways = []
    for is_refusal in (False, True):
        place = folder / str(is_refusal)
        place.mkdir()
        ways.append(_walk(place, scenario, found[is_refusal]))
    return ways


def _walk(folder: Path, scenario: str, seed: int) -> Way:
    writes: list[tuple[str, dict[str, Any]]] = []

    async def clairvoyant(_task: TaskView, call: Call) -> None:
        async def noted(tool: str, arguments: dict[str, Any], /) -> StepView:
            if tool.partition("_")[2].partition("_")[0] not in READS and tool != "wait":
                writes.append((tool, arguments))
            return await call(tool, arguments)

        await solutions_of(scenario).clairvoyant(seed, LEVEL, noted)

    wanted = Wanted(scenario=scenario, player=clairvoyant, seed=seed, chaos=LEVEL, overrides=CALM_WIRE)
    return Way(scenario, seed, play_all(folder, [wanted])[0], tuple(writes))
