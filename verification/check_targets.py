"""Finds the scenarios that `companyos check` checks."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from fastapi.routing import APIRoute

from companyos.entry_points import EntryPointError
from companyos.extras import install_folder_command
from companyos_gateway.chaos import ChaosError
from companyos_gateway.evaluation import RubricError
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.catalogue import ENTRY_POINTS, ScenarioError, folder_of
from companyos_gateway.scenarios.validation import check_catalogue, check_scenarios
from companyos_gateway.services import service_rules
from companyos_players.registry import NoPlayersError, adversaries_of
from verification.in_process import installed_services

MANIFEST = "pyproject.toml"


class TargetError(ValueError):
    """Raised for a scenario that cannot be checked; the message states the reason."""


class UnknownTargetError(TargetError):
    """Raised for a target that is neither the folder of a package nor the name of a scenario."""


def find_scenarios(target: str) -> tuple[str, ...]:
    """Return the scenarios of a package's folder, or the scenario with that name.

    Raises TargetError if there are none, if one is not installed, not valid or without players, or if the rules of a
    service are not valid.
    """
    try:
        check_catalogue()
        names = _scenarios_in(Path(target)) if (Path(target) / MANIFEST).is_file() else _scenario_named(target)
        check_scenarios({name: catalogue()[name] for name in names})
        for name in names:
            adversaries_of(name)
        _check_protected_tables()
        _check_tools(names)
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


def _check_tools(names: Sequence[str]) -> None:
    """Raise TargetError for a tool of a scenario that no installed service has."""
    routes = (
        (name, route) for name, one in installed_services().items() for router in one.routers for route in router.routes
    )
    tools = {f"{name}_{route.operation_id}" for name, route in routes if isinstance(route, APIRoute)}
    for name in names:
        for attribute in ("tools", "distractors"):
            for tool in getattr(catalogue()[name], attribute, ()):
                if tool not in tools:
                    raise TargetError(f"{name}/scenario.py: {attribute}: no service has the tool {tool!r}")


def _check_protected_tables() -> None:
    """Raise TargetError for a protected table that its service does not have."""
    services = installed_services()
    for name in sorted(services.keys() & service_rules().keys()):
        tables, rules = services[name].metadata.tables, service_rules()[name]
        for table in sorted(rules.protected_tables - tables.keys()):
            accepted = ", ".join(sorted(tables))
            raise TargetError(
                f"rules of the service {name}: protected_tables: must be of the tables {accepted}; got {table!r}"
            )


def _scenario_named(name: str) -> tuple[str, ...]:
    if name not in catalogue():
        known = ", ".join(sorted(catalogue()))
        raise UnknownTargetError(f"{name!r} is neither a folder with a {MANIFEST} nor one of the scenarios {known}")
    return (name,)
