"""Which kinds of chaos may strike in a scenario at all."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module

from companyos_gateway.chaos import Group, Kind
from companyos_gateway.chaos.kinds import ASKED_FOR, LAID_OVER
from companyos_gateway.scenarios.parts.staging import StagedScenario, data_and_people
from companyos_gateway.scenarios.scenario import Scenario


def never_strikes(scenario: Scenario) -> frozenset[Kind]:
    """Return the kinds that mean nothing in a scenario, as far as it says so: whatever is asked for, they stay away."""
    if not isinstance(scenario, StagedScenario):
        return frozenset()
    said = vars(import_module(type(scenario).__module__))
    usual = data_and_people(without=said.get("NOT_APPLICABLE", ()), also=scenario.asked_for)
    applicable: Collection[Kind] = said.get("APPLICABLE", usual)
    staged = [kind for kind in Kind if kind not in LAID_OVER and kind.group is not Group.TRANSPORT]
    unasked = LAID_OVER & ASKED_FOR - scenario.asked_for
    return frozenset({kind for kind in staged if kind not in applicable} | scenario.calm_kinds | unasked)
