"""The catalogue: every folder beside this file that holds a scenario."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from companyos_gateway.scenarios.scenario import Scenario

_FOLDER = Path(__file__).parent


def catalogue() -> dict[str, Scenario]:
    """Return every scenario by its name, which is the name of its folder."""
    return dict(_discovered())


@cache
def _discovered() -> Mapping[str, Scenario]:
    names = sorted(file.parent.name for file in _FOLDER.glob("*/scenario.py"))
    modules = {name: import_module(f"companyos_gateway.scenarios.{name}.scenario") for name in names}
    return MappingProxyType({name: cast("Scenario", module.SCENARIO) for name, module in modules.items()})
