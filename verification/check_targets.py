"""Finds the scenarios that `companyos check` checks."""

from __future__ import annotations

import tomllib
from pathlib import Path

from companyos.entry_points import EntryPointError
from companyos.extras import install_folder_command
from companyos_gateway.chaos import ChaosError
from companyos_gateway.evaluation import RubricError
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.catalogue import ENTRY_POINTS, ScenarioError, folder_of
from companyos_gateway.scenarios.validation import check_catalogue, check_scenarios
from companyos_players.registry import NoPlayersError, adversaries_of
from verification.privileged.registry import privileged_player

MANIFEST = "pyproject.toml"


class TargetError(ValueError):
    """Raised for a scenario that cannot be checked; the message states the reason."""


def find_scenarios(target: str) -> tuple[str, ...]:
    """Return the scenarios of a package's folder, or the scenario with that name.

    Raises TargetError if there are none, or if one is not installed, not valid or without players.
    """
    try:
        check_catalogue()
        names = _scenarios_in(Path(target)) if (Path(target) / MANIFEST).is_file() else _scenario_named(target)
        check_scenarios({name: catalogue()[name] for name in names})
        for name in names:
            adversaries_of(name)
            privileged_player(name)
    except (EntryPointError, ScenarioError, ChaosError, RubricError, NoPlayersError) as error:
        raise TargetError(str(error)) from error
    return names


def _scenarios_in(folder: Path) -> tuple[str, ...]:
    """Return the scenarios of a package, which must be installed from its folder."""
    project = tomllib.loads((folder / MANIFEST).read_text(encoding="utf-8")).get("project", {})
    names = tuple(project.get("entry-points", {}).get(ENTRY_POINTS, {}))
    if not names:
        raise TargetError(f"{folder / MANIFEST} has no entry points in the group {ENTRY_POINTS}")
    for name in names:
        if name not in catalogue():
            raise TargetError(f"The scenario {name!r} is not installed: {install_folder_command(folder)}")
        installed = folder_of(catalogue()[name]).resolve()
        if not installed.is_relative_to(folder.resolve()):
            command = install_folder_command(folder)
            raise TargetError(f"The scenario {name!r} is installed in {installed}, not from this folder: {command}")
    return names


def _scenario_named(name: str) -> tuple[str, ...]:
    if name not in catalogue():
        known = ", ".join(sorted(catalogue()))
        raise TargetError(f"{name!r} is neither a folder with a {MANIFEST} nor one of the scenarios {known}")
    return (name,)
