"""Public information about scenarios: purpose, structures and tools, but no solutions."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from pathlib import Path

from companyos_gateway import scenarios as scenarios_package
from companyos_gateway.chaos import Kind, profile_for
from companyos_gateway.scenarios import Scenario
from companyos_gateway.scenarios.blocks.declared_scenario import DeclaredScenario, inapplicable_kinds

FOLDERS = Path(scenarios_package.__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioDetails:
    """The content of a scenario's page in the console and in the documentation."""

    name: str
    summary: str
    prose: tuple[str, ...]
    """Paragraphs in Markdown."""
    structures: tuple[str, ...]
    held_out: tuple[str, ...]
    always: tuple[Kind, ...]
    """Chaos kinds present from level 1 on."""
    never: tuple[Kind, ...]
    tools: tuple[str, ...]
    """Tools that a solution may need."""
    distractors: tuple[str, ...]
    max_steps: int | None


def scenario_details(name: str, scenario: Scenario) -> ScenarioDetails:
    """Return the details of a scenario. Builds an instance to list the structures."""
    readme = FOLDERS / name / "README.md"
    never = inapplicable_kinds(scenario)
    return ScenarioDetails(
        name=name,
        summary=scenario_summary(scenario),
        prose=tuple(readme_paragraphs(readme.read_text(encoding="utf-8") if readme.is_file() else "")),
        structures=scenario_variants(scenario),
        held_out=tuple(sorted(scenario.held_out)),
        always=tuple(getattr(scenario, "always", ())),
        never=tuple(kind for kind in Kind if kind in never),
        tools=tuple(getattr(scenario, "tools", ())),
        distractors=tuple(getattr(scenario, "distractors", ())),
        max_steps=getattr(scenario, "max_steps", None),
    )


def scenario_summary(scenario: Scenario) -> str:
    """Return the first line of the scenario's docstring."""
    return (inspect.getdoc(scenario) or "").partition("\n")[0]


def readme_paragraphs(readme: str) -> list[str]:
    """Return the paragraphs of a scenario's README between its title and its first table or heading."""
    body = readme.partition("\n\n")[2]
    introduction = re.split(r"\n\n(?=\||#|```)", body, maxsplit=1)[0]
    return [part for part in introduction.split("\n\n") if part.strip()]


def scenario_variants(scenario: Scenario) -> tuple[str, ...]:
    """Return the values of the enum from which a case of the scenario takes its variant."""
    if not isinstance(scenario, DeclaredScenario):
        return ()
    variant = scenario.build(0, profile_for(0), {}).case.variant
    return tuple(member.value for member in type(variant))
