"""The import-linter contract `service_layers`: layers named by file, across the feature folders of a service."""

from __future__ import annotations

from itertools import permutations

import grimp
from importlinter import Contract, ContractCheck, fields, output

_LayerGroup = list[frozenset[str]]
"""The sibling modules of one layer, each with the modules that it matches."""


class ServiceLayersContract(Contract):
    """Check that a module imports only from the layers below its own.

    Configuration options:

        - services: The services, each by the name of its package.
        - layers:   File names from top to bottom. `routes` matches `<service>.routes` and, for every feature,
                    `<service>.<feature>.routes`. Names joined by `|` may not import each other.
    """

    type_name = "service_layers"

    services = fields.ListField(subfield=fields.StringField())
    layers = fields.ListField(subfield=fields.StringField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        """Find import chains from a lower layer to a higher one or between siblings."""
        names: list[str] = self.services  # type: ignore[assignment]
        chains = sorted({chain for service in names for chain in self._illegal_chains(graph, service)})
        return ContractCheck(kept=not chains, metadata={"chains": chains})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each illegal chain."""
        for chain in check.metadata["chains"]:
            output.print_error(f"- {' -> '.join(chain)}")
        output.new_line()

    def _illegal_chains(self, graph: grimp.ImportGraph, service: str) -> set[tuple[str, ...]]:
        layer_groups = self._layer_groups(graph, service)
        stacks = [[frozenset[str]().union(*siblings) for siblings in layer_groups]]
        stacks += [list(pair) for siblings in layer_groups for pair in permutations(siblings, 2)]
        found: set[tuple[str, ...]] = set()
        for stack in stacks:
            layers = [grimp.Layer(*modules, independent=False) for modules in stack if modules]
            for dependency in graph.find_illegal_dependencies_for_layers(layers):
                found |= {_chain(route) for route in dependency.routes}
        return found

    def _layer_groups(self, graph: grimp.ImportGraph, service: str) -> list[_LayerGroup]:
        lines: list[str] = self.layers  # type: ignore[assignment]
        return [[_modules(graph, service, name.strip()) for name in line.split("|")] for line in lines]


def _modules(graph: grimp.ImportGraph, service: str, name: str) -> frozenset[str]:
    patterns = (f"{service}.{name}", f"{service}.*.{name}")
    return frozenset[str]().union(*(graph.find_matching_modules(pattern) for pattern in patterns))


def _chain(route: grimp.Route) -> tuple[str, ...]:
    return (min(route.heads), *route.middle, min(route.tails))
