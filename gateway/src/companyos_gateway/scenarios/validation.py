"""Validation of all scenarios at start: briefs and rubrics."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from string import Formatter
from traceback import extract_tb
from typing import Any

from companyos.entry_points import EntryPointError
from companyos_gateway.chaos import ChaosError, profile_for
from companyos_gateway.evaluation import RubricError
from companyos_gateway.scenarios.api import Scenario
from companyos_gateway.scenarios.blocks.checklist import ChecklistError
from companyos_gateway.scenarios.blocks.declared_scenario import DeclaredScenario
from companyos_gateway.scenarios.blocks.task import BuiltTask
from companyos_gateway.scenarios.blocks.texts import read_texts
from companyos_gateway.scenarios.catalogue import ScenarioError, builtin_names, catalogue, folder_of
from companyos_gateway.services import service_rules
from companyos_gateway.world import WorldBuilder

CHECK_SEED, CHECK_LEVEL = 0, 2
"""Seed and chaos level of the instance that is checked."""

_ROOT = Path(__file__).parent
_ID = re.compile(r"\b[A-Z]{1,4}-[0-9]+\b")
_FIGURE = re.compile(r"[0-9](?:[0-9.,]*[0-9])?")


@cache
def check_catalogue() -> None:
    """Raise ScenarioError or ChaosError, with file and place, for the first invalid scenario or profile.

    An instance is built of each scenario of other packages, or of every scenario if other packages add rules of
    services, which affect all of them. Otherwise, the tests and `companyos check` build those of this package. Raises
    EntryPointError for an entry point of another package that cannot be used.
    """
    profile_for(CHECK_LEVEL)
    check_brief_formats(_ROOT)
    scenarios = catalogue()
    added = {name: scenarios[name] for name in scenarios.keys() - builtin_names()}
    for scenario in added.values():
        _check_brief_format(folder_of(scenario))
    check_scenarios(scenarios if service_rules() else added)


def check_brief_formats(root: Path) -> None:
    """Raise ScenarioError, with file and place, for the first brief below the root that is not a format string.

    Its slots are checked with the rest of the folder, as are invalid TOML files.
    """
    for file in sorted(root.glob("*/texts.toml")):
        _check_brief_format(file.parent)


def _check_brief_format(folder: Path) -> None:
    with suppress(tomllib.TOMLDecodeError):
        for number, brief in enumerate(read_texts(folder).get("briefs", [])):
            try:
                brief.format(key="")
            except ValueError as error:
                raise ScenarioError(f"{folder.name}/texts.toml: briefs[{number}]: {error}") from error
            except (AttributeError, LookupError):
                pass


def check_scenarios(scenarios: Mapping[str, Scenario], root: Path = _ROOT) -> None:
    """Raise ScenarioError, with file and place, for the first scenario whose briefs or rubric are invalid.

    Its texts are in the folder of its name below the root, or else beside its module. All of its briefs are checked,
    not only the one that the instance draws.
    """
    for name, scenario in sorted(scenarios.items()):
        if isinstance(scenario, DeclaredScenario):
            folder = root / name
            _check_scenario(name, scenario, folder if folder.is_dir() else folder_of(scenario))


def brief_problems(brief: str, world: WorldBuilder, ticket_key: str) -> Iterator[str]:
    """Yield the problems of a brief: a missing ticket key, or facts that the agent has to find."""
    rest = brief.replace(ticket_key, "")
    if rest == brief:
        yield f"does not name the ticket {ticket_key}"
    for found in _ID.findall(rest):
        yield f"names {found}"
    for figure in _FIGURE.findall(_ID.sub("", rest)):
        yield f"names the figure {figure}"
    normalized_brief = " ".join(rest.split())
    for word in _names(world):
        if word in normalized_brief:
            yield f"names {word!r}"


def _names(world: WorldBuilder) -> Iterator[str]:
    """Yield the names of people, vendors and records of a world."""
    for person in world.staff.people:
        yield person.name
    for vendor in world.datahub.vendors:
        yield vendor.name
        yield vendor.contact_name
    for record in world.datahub.records:
        yield record.title


def _check_scenario(name: str, scenario: DeclaredScenario[Any], folder: Path) -> None:
    built_task = build_task(name, scenario, CHECK_SEED)
    if _documents(built_task) != _documents(build_task(name, scenario, CHECK_SEED)):
        raise ScenarioError(difference_message(name, CHECK_SEED))
    for place, brief in _briefs(built_task, folder):
        for problem in brief_problems(brief, built_task.world, built_task.case.ticket_key):
            raise ScenarioError(f"{name}/texts.toml: {place}: {problem}")
    try:
        scenario.rubric(built_task.case, built_task.world.company())
    except RubricError as error:
        raise ScenarioError(f"{name}/scenario.py: {error}") from error
    for figure in _unused_figures(scenario, built_task):
        raise ScenarioError(f"{name}/texts.toml: policy.body: does not state the figure {{{figure}}}")
    if needed := sorted(set(scenario.distractors) & set(scenario.tools)):
        raise ScenarioError(f"{name}/scenario.py: distractors: {needed[0]!r} is one of the tools")


def _unused_figures(scenario: DeclaredScenario[Any], built_task: BuiltTask) -> list[str]:
    """Return the figures of the policy that its text does not state, if the scenario does not compute the text."""
    if type(scenario).policy_body is not DeclaredScenario.policy_body:
        return []
    world = built_task.world
    _, topic = scenario.policy_head(built_task.case.facts)
    own = [row for row in world.datahub.policies if row.topic == topic and row.policy_id in world.task_policy_ids]
    figures = {name for row in own for name in row.parameters}
    body: str = scenario.texts()["policy"]["body"]
    return sorted(figures - {slot for _, slot, _, _ in Formatter().parse(body)})


def difference_message(name: str, seed: int) -> str:
    """Return the message of the error that two plans of a seed differ."""
    reason = "random values must come from the stream of the build context, and sets must be sorted"
    return f"{name}/scenario.py: two plans of seed {seed} differ; {reason}"


def _documents(built_task: BuiltTask) -> tuple[str, Mapping[str, bytes]]:
    """Return the brief and the seed documents of a task."""
    return built_task.brief, built_task.world.documents(draw_seed="").contents


def _briefs(built_task: BuiltTask, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield every brief of a folder with its position, filled for the built ticket."""
    for number, brief in enumerate(read_texts(folder)["briefs"]):
        yield f"briefs[{number}]", brief.format(key=built_task.case.ticket_key)
    yield f"briefs: {built_task.brief!r}", built_task.brief


def build_task(name: str, scenario: DeclaredScenario[Any], seed: int) -> BuiltTask:
    """Build the task of a seed at the level that is checked. Raises ScenarioError, with file and place."""
    try:
        return scenario.build(seed, profile_for(CHECK_LEVEL), {})
    except (ChaosError, EntryPointError):
        raise
    except ChecklistError as error:
        raise ScenarioError(f"{name}/texts.toml: {error}") from error
    except Exception as error:  # the code of a scenario may raise anything
        folder = folder_of(scenario)
        if isinstance(error, KeyError) and (line := _line_of_slot(folder, error.args[0])):
            reason = f"no value for the slot {{{error.args[0]}}}"
            raise ScenarioError(f"{name}/texts.toml: line {line}: {reason}") from error
        reason = f"{type(error).__name__}: {error}".removesuffix(": ")
        place = _place_in(folder, error)
        raise ScenarioError(f"{name}/scenario.py: seed {seed} cannot be staged: {reason}{place}") from error


def _line_of_slot(folder: Path, slot: object) -> int | None:
    """Return the first line of texts.toml with a slot."""
    file = folder / "texts.toml"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    slots = re.compile(rf"\{{{re.escape(str(slot))}[}}:!]")
    return next((number for number, line in enumerate(lines, start=1) if slots.search(line)), None)


def _place_in(folder: Path, error: Exception) -> str:
    """Return the innermost line of the folder's code in a traceback, such as ` (scenario.py, line 9, in draw)`."""
    frames = [one for one in extract_tb(error.__traceback__) if Path(one.filename).is_relative_to(folder)]
    return "".join(f" ({Path(one.filename).name}, line {one.lineno}, in {one.name})" for one in frames[-1:])
