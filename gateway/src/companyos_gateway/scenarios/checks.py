"""What is looked at of every scenario before a gateway starts: its briefs as they are told, and its rubric."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from companyos_gateway.chaos import ChaosError, profile_for
from companyos_gateway.rubrics import RubricError
from companyos_gateway.rubrics.cases import DeskCase
from companyos_gateway.scenarios.catalogue import catalogue
from companyos_gateway.scenarios.folders import ScenarioError
from companyos_gateway.scenarios.parts.staging import Staged, StagedScenario
from companyos_gateway.scenarios.parts.words import words_beside
from companyos_gateway.scenarios.scenario import Scenario
from companyos_gateway.world import World

SEED, LEVEL = 0, 2
"""The instance that is looked at."""

_ROOT = Path(__file__).parent
_ID = re.compile(r"\b[A-Z]{1,4}-[0-9]+\b")
_FIGURE = re.compile(r"[0-9](?:[0-9.,]*[0-9])?")


@cache
def check_catalogue() -> None:
    """Raise ScenarioError or ChaosError, with file and place, for the first scenario or profile that does not fit."""
    profile_for(LEVEL)
    check_brief_formats(_ROOT)
    check_scenarios(catalogue())


def check_brief_formats(root: Path) -> None:
    """Raise ScenarioError, with file and place, for the first brief in a folder below the root that is no format.

    What its slots may be is looked at with the rest of the folder, as are files that are no TOML.
    """
    for file in sorted(root.glob("*/texts.toml")):
        with suppress(tomllib.TOMLDecodeError):
            for number, brief in enumerate(tomllib.loads(file.read_text(encoding="utf-8")).get("briefs", [])):
                try:
                    brief.format(key="")
                except ValueError as misfit:
                    raise ScenarioError(f"{file.parent.name}/texts.toml: briefs[{number}]: {misfit}") from misfit
                except (AttributeError, LookupError):
                    pass


def check_scenarios(scenarios: Mapping[str, Scenario], root: Path = _ROOT) -> None:
    """Raise ScenarioError, with file and place, for the first scenario whose briefs or rubric do not fit.

    Its words lie in the folder of its name below the root. All of its briefs are looked at, not only the one that the
    instance draws.
    """
    for name, scenario in sorted(scenarios.items()):
        if isinstance(scenario, StagedScenario):
            _check(scenario, root / name)


def brief_faults(brief: str, world: World, ticket_key: str) -> Iterator[str]:
    """Say which facts of a world a brief names although they have to be found; it may name its ticket alone."""
    rest = brief.replace(ticket_key, "")
    if rest == brief:
        yield f"does not name the ticket {ticket_key}"
    for found in _ID.findall(rest):
        yield f"names {found}"
    for figure in _FIGURE.findall(_ID.sub("", rest)):
        yield f"names the figure {figure}"
    told = " ".join(rest.split())
    for word in _names(world):
        if word in told:
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


def _check(scenario: StagedScenario[DeskCase], folder: Path) -> None:
    name = folder.name
    staged = _staged(name, scenario)
    for place, brief in _briefs(staged, folder):
        for fault in brief_faults(brief, staged.world, staged.case.ticket_key):
            raise ScenarioError(f"{name}/texts.toml: {place}: {fault}")
    try:
        scenario.rubric(staged.case, staged.world.company())
    except RubricError as misfit:
        raise ScenarioError(f"{name}/rubric.py: {misfit}") from misfit
    if strangers := sorted(set(scenario.distractors) - set(scenario.tools)):
        raise ScenarioError(f"{name}/scenario.py: distractors: {strangers[0]!r} is none of the tools")


def _briefs(staged: Staged[DeskCase], folder: Path) -> Iterator[tuple[str, str]]:
    """Return every brief of a folder as it would be told of the staged ticket, with its place, and what is told."""
    for number, brief in enumerate(words_beside(str(folder / "texts.toml"))["briefs"]):
        yield f"briefs[{number}]", brief.format(key=staged.case.ticket_key)
    yield f"briefs: {staged.brief!r}", staged.brief


def _staged(name: str, scenario: StagedScenario[DeskCase]) -> Staged[DeskCase]:
    try:
        return scenario.build(SEED, profile_for(LEVEL), {})
    except ChaosError:
        raise
    except (ValueError, LookupError) as misfit:
        reason = f"{type(misfit).__name__}: {misfit}"
        raise ScenarioError(f"{name}/scenario.py: seed {SEED} cannot be staged: {reason}") from misfit
