"""What a scenario's folder owes; a folder that does not is refused with the file and the place."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import Any

SHARED = frozenset({"parts"})
"""Folders that hold what scenarios share."""

FILES = (
    "README.md",
    "__init__.py",
    "case.py",
    "documents.py",
    "rubric.py",
    "scenario.py",
    "texts.toml",
)
LEAST_BRIEFS = 6
KEY_SLOT = "key"
"""The one slot of a brief: it names the entry ticket and no other fact."""

WAYS = frozenset({"resolve", "unlink", "wait"})


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
    for name in FILES:
        if not (folder / name).is_file():
            raise ScenarioError(f"{folder.name}/{name}: missing")
    place = f"{folder.name}/texts.toml"
    try:
        words = tomllib.loads((folder / "texts.toml").read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{place}: {error}") from error
    for fault in (*_brief_faults(words), *_blocker_faults(words)):
        raise ScenarioError(f"{place}: {fault}")


def _is_scenario(folder: Path) -> bool:
    is_ours = folder.name not in SHARED and not folder.name.startswith(("_", "."))
    return is_ours and any(file.suffix in (".py", ".toml", ".md") for file in folder.iterdir())


def _brief_faults(words: Mapping[str, Any]) -> Iterator[str]:
    briefs = words.get("briefs", [])
    if len(set(briefs)) < LEAST_BRIEFS:
        yield f"briefs: {len(set(briefs))} different ones, at least {LEAST_BRIEFS}"
    for number, brief in enumerate(briefs):
        slots = {name for _, name, _, _ in Formatter().parse(brief) if name is not None}
        if KEY_SLOT not in slots:
            yield f"briefs[{number}]: does not name the ticket by {{{KEY_SLOT}}}"
        for slot in sorted(slots - {KEY_SLOT}):
            yield f"briefs[{number}]: names a hidden fact by {{{slot}}}"


def _blocker_faults(words: Mapping[str, Any]) -> Iterator[str]:
    ways = {blocker.get("way") for blocker in words.get("blocker", [])}
    if ways and ways != WAYS:
        yield f"blocker: the ways are {', '.join(sorted(WAYS))}, not {', '.join(sorted(map(str, ways)))}"
