"""The catalogue: the scenarios in folders beside this file, and those of installed packages."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from companyos.entry_points import EntryPointError, find_entry_points, load_entry_point
from companyos_gateway.scenarios.blocks.texts import read_texts

if TYPE_CHECKING:
    from companyos_gateway.scenarios.api import Scenario


ENTRY_POINTS = "companyos.scenarios"
"""Group of the entry points by which installed packages add scenarios."""

_FOLDER = Path(__file__).parent


def catalogue() -> dict[str, Scenario]:
    """Return every scenario by its name: the folders beside this file, then the entry points of other packages.

    Raises ScenarioError for an incomplete folder, with the file and the place, and EntryPointError for an entry point
    that cannot be used.
    """
    return dict(_discovered())


@cache
def builtin_names() -> frozenset[str]:
    """Return the names of this package's scenarios, which make up the published task set."""
    return frozenset(folder.name for folder in scenario_folders(_FOLDER))


@cache
def _discovered() -> Mapping[str, Scenario]:
    found = {name: _scenario(name) for name in sorted(builtin_names())}
    for point in find_entry_points(ENTRY_POINTS).values():
        if point.name in found:
            raise EntryPointError(point, "another scenario has this name")
        found[point.name] = _load(point)
    return MappingProxyType(found)


def folder_of(scenario: Scenario) -> Path:
    """Return the folder that contains a scenario's module and its texts.toml."""
    return Path(inspect.getfile(type(scenario))).parent


def _load(point: EntryPoint) -> Scenario:
    scenario = load_entry_point(point)
    if not callable(getattr(scenario, "plan", None)):
        raise EntryPointError(point, f"must be a scenario, with a method plan; got {type(scenario).__name__}")
    if scenario.name != point.name:
        raise EntryPointError(point, f"the scenario is named {scenario.name!r}")
    folder = folder_of(scenario)
    for problem in _text_problems(folder):
        raise EntryPointError(point, f"{folder / 'texts.toml'}: {problem}")
    return cast("Scenario", scenario)


def _scenario(name: str) -> Scenario:
    module = import_module(f"companyos_gateway.scenarios.{name}.scenario")
    scenario = cast("Scenario", module.SCENARIO)
    if scenario.name != name:
        raise ScenarioError(f"{name}/scenario.py: SCENARIO.name: {scenario.name!r} is not the folder's name")
    return scenario


SHARED_FOLDERS = frozenset({"blocks"})
"""Folders of code that scenarios share."""

REQUIRED_FILES = ("README.md", "__init__.py", "scenario.py", "texts.toml")
MIN_BRIEFS = 6
KEY_SLOT = "key"
"""The only slot of a brief: the key of the entry ticket."""

BLOCKER_RESOLUTIONS = frozenset({"resolve", "unlink", "wait"})


class ScenarioError(ValueError):
    """Raised for an invalid scenario; the message states the file and the place in it."""


def scenario_folders(root: Path) -> list[Path]:
    """Return the folders below the root that contain a scenario. Raises ScenarioError for an incomplete one."""
    found = [folder for folder in sorted(root.iterdir()) if folder.is_dir() and _is_scenario(folder)]
    for folder in found:
        check_folder(folder)
    return found


def check_folder(folder: Path) -> None:
    """Raise ScenarioError for a missing file or invalid texts."""
    for name in REQUIRED_FILES:
        if not (folder / name).is_file():
            raise ScenarioError(f"{folder.name}/{name}: missing")
    for problem in _text_problems(folder):
        raise ScenarioError(f"{folder.name}/texts.toml: {problem}")


def _is_scenario(folder: Path) -> bool:
    is_candidate = folder.name not in SHARED_FOLDERS and not folder.name.startswith(("_", "."))
    return is_candidate and any(file.suffix in (".py", ".toml", ".md") for file in folder.iterdir())


def _text_problems(folder: Path) -> Iterator[str]:
    try:
        words = read_texts(folder)
    except (tomllib.TOMLDecodeError, OSError) as error:
        yield str(error)
        return
    yield from _brief_problems(words)
    yield from _blocker_problems(words)
    yield from _checklist_problems(words)
    for number, question in enumerate(words.get("decisions", {}).get("questions", [])):
        if not question.get("answer"):
            yield f"decisions.questions[{number}]: no answer"


def _brief_problems(words: Mapping[str, Any]) -> Iterator[str]:
    briefs = words.get("briefs", [])
    if len(set(briefs)) < MIN_BRIEFS:
        yield f"briefs: {len(set(briefs))} different ones, at least {MIN_BRIEFS}"
    for number, brief in enumerate(briefs):
        slots = {name for _, name, _, _ in Formatter().parse(brief) if name is not None}
        if KEY_SLOT not in slots:
            yield f"briefs[{number}]: does not name the ticket by {{{KEY_SLOT}}}"
        for slot in sorted(slots - {KEY_SLOT}):
            yield f"briefs[{number}]: names a hidden fact by {{{slot}}}"


def _blocker_problems(words: Mapping[str, Any]) -> Iterator[str]:
    resolutions = {blocker.get("way") for blocker in words.get("blocker", [])}
    if resolutions and resolutions != BLOCKER_RESOLUTIONS:
        yield (
            f"blocker: the ways are {', '.join(sorted(BLOCKER_RESOLUTIONS))}, "
            f"not {', '.join(sorted(map(str, resolutions)))}"
        )


def _checklist_problems(words: Mapping[str, Any]) -> Iterator[str]:
    for name, items in words.get("checklists", {}).items():
        for number, item in enumerate(items):
            if not isinstance(item, dict) or not item.get("text") or not item.get("shows"):
                yield f"checklists.{name}[{number}]: must have `text` and `shows`, the names of the rows that back it"
