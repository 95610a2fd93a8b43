"""The catalogue: every folder beside this file that holds a scenario."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from companyos_gateway.scenarios.folders import ScenarioError, scenario_folders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from companyos_gateway.scenarios.scenario import Scenario

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
