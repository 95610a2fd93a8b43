"""The catalogue: every folder beside this file that holds a scenario."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from companyos_gateway.scenarios.api import Scenario


_FOLDER = Path(__file__).parent


def catalogue() -> dict[str, Scenario]:
    """Return every scenario by its name, which is the name of its folder.

    Raises ScenarioError for a folder that is not whole, with the file and the place.
    """
    return dict(_discovered())


@cache
def _discovered() -> Mapping[str, Scenario]:
    return MappingProxyType({folder.name: _scenario(folder.name) for folder in scenario_folders(_FOLDER)})


def _scenario(name: str) -> Scenario:
    module = import_module(f"companyos_gateway.scenarios.{name}.scenario")
    scenario = cast("Scenario", module.SCENARIO)
    if scenario.name != name:
        raise ScenarioError(f"{name}/scenario.py: SCENARIO.name: {scenario.name!r} is not the folder's name")
    return scenario


SHARED_FOLDERS = frozenset({"blocks"})
"""Folders that hold what scenarios share."""

REQUIRED_FILES = (
    "README.md",
    "__init__.py",
    "case.py",
    "documents.py",
    "rubric.py",
    "scenario.py",
    "texts.toml",
)
MIN_BRIEFS = 6
KEY_SLOT = "key"
"""The one slot of a brief: it names the entry ticket and no other fact."""

BLOCKER_RESOLUTIONS = frozenset({"resolve", "unlink", "wait"})


class ScenarioError(ValueError):
    """Raised for a scenario that does not fit; the text names the file and the place in it."""


def scenario_folders(root: Path) -> list[Path]:
    """Return the folders below the root that hold a scenario, each of them whole. Raises ScenarioError."""
    found = [folder for folder in sorted(root.iterdir()) if folder.is_dir() and _is_scenario(folder)]
    for folder in found:
        check_folder(folder)
    return found


def check_folder(folder: Path) -> None:
    """Raise ScenarioError for a part that is missing, or words that do not fit."""
    for name in REQUIRED_FILES:
        if not (folder / name).is_file():
            raise ScenarioError(f"{folder.name}/{name}: missing")
    place = f"{folder.name}/texts.toml"
    try:
        words = tomllib.loads((folder / "texts.toml").read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{place}: {error}") from error
    for problem in (*_brief_problems(words), *_blocker_problems(words)):
        raise ScenarioError(f"{place}: {problem}")


def _is_scenario(folder: Path) -> bool:
    is_candidate = folder.name not in SHARED_FOLDERS and not folder.name.startswith(("_", "."))
    return is_candidate and any(file.suffix in (".py", ".toml", ".md") for file in folder.iterdir())


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
