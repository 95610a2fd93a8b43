"""Code rules that linters do not cover."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

from companyos_gateway.scenarios.catalogue import builtin_names
from tests.architecture.sources import FEATURE_FILES, PACKAGES, SERVICES, Source, features, sources

PRODUCT = ("shared/src", "services", "gateway/src", "client/src")
WORLD = (
    "shared/src/companyos_shared",
    "services",
    "gateway/src/companyos_gateway/world",
    "gateway/src/companyos_gateway/chaos",
    "gateway/src/companyos_gateway/evaluation",
    "gateway/src/companyos_gateway/scenarios",
)
NOT_THE_WORLD = "shared/src/companyos_shared/wire/nonces.py"
"""Nonces and expiry of control calls."""

CHANCE_AND_CLOCKS = {"random", "secrets", "uuid"}
BUILTIN_CHANCE = {"hash", "id"}
CALLS = {
    "time": {"time", "time_ns"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
    "os": {"urandom", "getrandom"},
}


def test_the_rules_find_the_code_that_they_check() -> None:
    assert all(sources(folder) for folder in WORLD)
    assert set(SERVICES) >= {"approvalflow", "datahub", "ticketdesk"}
    assert all(features(service) for service in SERVICES)


def test_the_world_uses_no_wall_clock_and_no_unseeded_randomness() -> None:
    checked = [source for source in sources(*WORLD) if not str(source.path).endswith(NOT_THE_WORLD)]
    assert not [place for source in checked for place in _forbidden_in(source)]


@pytest.mark.parametrize(
    "line",
    [
        "import random",
        "from uuid import uuid4",
        "import time; started = time.time()",
        "import datetime as d; today = d.date.today()",
        "from datetime import datetime; now = datetime.now()",
        "import os; noise = os.urandom(8)",
        "bucket = hash('a') % 7",
    ],
)
def test_a_planted_wall_clock_or_random_call_is_found(line: str) -> None:
    source = Source(sources("shared/src")[0].path)
    source.__dict__["tree"] = ast.parse(line)
    assert list(_forbidden_in(source))


def test_a_service_never_commits() -> None:
    found = [
        source.at(node)
        for source in sources("services")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and node.attr in {"commit", "rollback"}
    ]
    assert not found


def test_routes_have_no_if() -> None:
    branches = (ast.If, ast.IfExp, ast.Match, ast.While, ast.Try)
    found = [
        source.at(node)
        for source in sources("services")
        if source.path.stem == "routes"
        for node in ast.walk(source.tree)
        if isinstance(node, branches)
    ]
    assert not found


@pytest.mark.parametrize("service", SERVICES)
def test_a_feature_has_routes_and_no_files_of_other_names(service: str) -> None:
    names = {folder.name: {path.stem for path in folder.glob("*.py")} - {"__init__"} for folder in features(service)}
    assert not {feature for feature, files in names.items() if "routes" not in files or files - FEATURE_FILES}


def test_every_handler_of_a_route_is_async() -> None:
    found = [
        source.at(node)
        for source in sources("services")
        if source.path.stem == "routes"
        for node in source.tree.body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    ]
    assert not found


def test_every_module_has_a_docstring() -> None:
    undocumented = [
        source.place
        for source in sources(*PRODUCT)
        if source.tree.body and source.path.name != "__init__.py" and not ast.get_docstring(source.tree)
    ]
    assert not undocumented


def test_no_scenario_imports_another() -> None:
    for name in builtin_names():
        known = set()
        for source in sources(f"gateway/src/companyos_gateway/scenarios/{name}"):
            known |= set(re.findall(r"companyos_gateway\.scenarios\.(\w+)", source.path.read_text()))
        assert known & builtin_names() <= {name}


def _forbidden_in(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        match node:
            case ast.Import(names=names) if {name.name.split(".")[0] for name in names} & CHANCE_AND_CLOCKS:
                yield source.at(node)
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in CHANCE_AND_CLOCKS:
                yield source.at(node)
            case ast.Call(func=ast.Name(id=name)) if name in BUILTIN_CHANCE:
                yield source.at(node)
            case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=name) if name in CALLS.get(
                owner, set()
            ):
                yield source.at(node)


def check_acyclic(imports: Mapping[str, set[str]]) -> None:
    """Raise CycleError with the modules of a cycle, if there is one."""
    TopologicalSorter(imports).prepare()


def test_there_are_no_import_cycles() -> None:
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    check_acyclic({module: graph.find_modules_directly_imported_by(module) for module in graph.modules})


def test_a_cycle_is_detected() -> None:
    with pytest.raises(CycleError):
        check_acyclic({"a": {"b"}, "b": {"c"}, "c": {"a"}})
