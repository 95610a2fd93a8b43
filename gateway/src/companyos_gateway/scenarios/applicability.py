"""Applicability: which kinds of chaos a scenario supports."""

from __future__ import annotations

from companyos_gateway.chaos import Group, Kind
from companyos_gateway.chaos.kinds import OPT_IN_KINDS, PERTURBATION_KINDS
from companyos_gateway.scenarios.api import Scenario
from companyos_gateway.scenarios.blocks.declared_scenario import DeclaredScenario


def inapplicable_kinds(scenario: Scenario) -> frozenset[Kind]:
    """Return the kinds that a declared scenario excludes: they never apply, not even if an override requests them."""
    if not isinstance(scenario, DeclaredScenario):
        return frozenset()
    task_kinds = [kind for kind in Kind if kind not in PERTURBATION_KINDS and kind.group is not Group.TRANSPORT]
    not_opted_in = PERTURBATION_KINDS & OPT_IN_KINDS - scenario.opt_in_kinds
    return frozenset(
        {kind for kind in task_kinds if kind not in scenario.applicable}
        | scenario.excluded_perturbations
        | not_opted_in
    )
