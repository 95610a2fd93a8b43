"""What is looked at of every scenario before a gateway starts: its brief as it is told, and its rubric."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from companyos_gateway.chaos import ChaosError, profile_for
from companyos_gateway.rubrics import RubricError
from companyos_gateway.rubrics.cases import DeskCase
from companyos_gateway.scenarios.catalogue import catalogue
from companyos_gateway.scenarios.folders import ScenarioError
from companyos_gateway.scenarios.parts.staging import Staged, StagedScenario
from companyos_gateway.scenarios.scenario import Scenario
from companyos_gateway.world import World

SEED, LEVEL = 0, 2
"""The instance that is looked at."""

_ID = re.compile(r"\b[A-Z]{1,4}-[0-9]+\b")
_AMOUNT = re.compile(r"[0-9][0-9.,]*[0-9]{2,}")


@cache
def check_catalogue() -> None:
    """Raise ScenarioError or ChaosError, with file and place, for the first scenario or profile that does not fit."""
    profile_for(LEVEL)
    check_scenarios(catalogue())


def check_scenarios(scenarios: Mapping[str, Scenario]) -> None:
    """Raise ScenarioError, with file and place, for the first scenario whose brief or rubric does not fit."""
    for name, scenario in sorted(scenarios.items()):
        if isinstance(scenario, StagedScenario):
            _check(name, scenario)


def brief_faults(brief: str, world: World, ticket_key: str) -> Iterator[str]:
    """Say which facts of a world a brief names although they have to be found; it may name its ticket alone."""
    rest = brief.replace(ticket_key, "")
    if rest == brief:
        yield f"does not name the ticket {ticket_key}"
    for found in _ID.findall(rest):
        yield f"names {found}"
    for amount in _AMOUNT.findall(_ID.sub("", rest)):
        yield f"names the amount {amount}"
    for word in _names(world):
        if word in rest:
            yield f"names {word!r}"


def _names(world: World) -> Iterator[str]:
    """Return what things and people of a world are called."""
    for person in world.staff.people:
        yield person.name
    for vendor in world.hub.vendors:
        yield vendor.name
        yield vendor.contact_name
    for record in world.hub.records:
        yield record.title


def _check(name: str, scenario: StagedScenario[DeskCase]) -> None:
    staged = _staged(name, scenario)
    for fault in brief_faults(staged.brief, staged.world, staged.case.ticket_key):
        raise ScenarioError(f"{name}/texts.toml: briefs: {staged.brief!r} {fault}")
    try:
        scenario.rubric(staged.case, staged.world.company())
    except RubricError as misfit:
        raise ScenarioError(f"{name}/rubric.py: {misfit}") from misfit
    if strangers := sorted(set(scenario.distractors) - set(scenario.tools)):
        raise ScenarioError(f"{name}/scenario.py: distractors: {strangers[0]!r} is none of the tools")


def _staged(name: str, scenario: StagedScenario[DeskCase]) -> Staged[DeskCase]:
    try:
        return scenario.stage(SEED, profile_for(LEVEL), {})
    except ChaosError:
        raise
    except (ValueError, LookupError) as misfit:
        reason = f"{type(misfit).__name__}: {misfit}"
        raise ScenarioError(f"{name}/scenario.py: seed {SEED} cannot be staged: {reason}") from misfit
