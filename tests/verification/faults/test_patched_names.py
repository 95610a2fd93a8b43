"""Sabotages and seeded defects replace attributes of the product by name; every name must exist."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from verification import defects as episode_defects
from verification.faults import sabotage
from verification.simulation import defects as simulation_defects


class RecordingPatch:
    """Stands in for `pytest.MonkeyPatch` and records the attributes instead of setting them."""

    def __init__(self) -> None:
        self.targets: list[tuple[Any, str]] = []

    def setattr(self, target: Any, name: str, _value: object) -> None:
        self.targets.append((target, name))


def assigned_attributes(function: Callable[..., Any]) -> Iterator[tuple[Any, str]]:
    """Yield owner and name of each attribute of an imported module that a sabotage assigns."""
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef)
    modules: dict[str, ModuleType] = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(node.value, ast.Call):
            [name] = node.value.args
            assert isinstance(name, ast.Constant)
            modules[node.target.id] = import_module(str(name.value))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            owner, *path = ast.unparse(node.targets[0]).split(".")
            target: Any = modules[owner]
            for part in path[:-1]:
                target = getattr(target, part)
            yield target, path[-1]


@pytest.mark.parametrize("name", sabotage.SABOTAGES)
def test_a_sabotage_replaces_an_attribute_that_exists(name: str) -> None:
    targets = list(assigned_attributes(sabotage.SABOTAGES[name][1]))
    assert targets
    assert [attribute for target, attribute in targets if not hasattr(target, attribute)] == []


@pytest.mark.parametrize(
    "install", {**episode_defects.DEFECTS, **simulation_defects.DEFECTS}.values(), ids=lambda install: install.__name__
)
def test_a_defect_replaces_attributes_that_exist(install: Callable[[Any], None]) -> None:
    patch = RecordingPatch()
    install(patch)
    assert patch.targets
    assert [attribute for target, attribute in patch.targets if not hasattr(target, attribute)] == []


def test_a_missing_attribute_is_detected() -> None:
    def renamed() -> None:
        journal: Any = import_module("companyos_gateway.engine.journal")
        journal.Journal.renamed_method = None

    [(target, attribute)] = assigned_attributes(renamed)
    assert (target.__name__, hasattr(target, attribute)) == ("Journal", False)
