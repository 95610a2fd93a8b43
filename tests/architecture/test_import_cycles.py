"""No module imports itself through others; imports in functions and for type checking count."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

PACKAGES = (
    "companyos",
    "companyos_shared",
    "companyos_ticketdesk",
    "companyos_datahub",
    "companyos_approvalflow",
    "companyos_gateway",
    "companyos_players",
    "verification",
)


def check_acyclic(imports: Mapping[str, set[str]]) -> None:
    """Raise CycleError with the modules of a cycle, if there is one."""
    TopologicalSorter(imports).prepare()


def test_there_are_no_import_cycles() -> None:
    graph = grimp.build_graph(PACKAGES[0], *PACKAGES[1:], cache_dir=None)
    check_acyclic({module: graph.find_modules_directly_imported_by(module) for module in graph.modules})


def test_a_cycle_is_detected() -> None:
    with pytest.raises(CycleError):
        check_acyclic({"a": {"b"}, "b": {"c"}, "c": {"a"}})
