"""Every chaos kind is applied by a profile, and changes something in the instance."""

from __future__ import annotations

from functools import cache

import pytest

from companyos_gateway.chaos import Group, Kind, profile_for
from companyos_gateway.chaos.kinds import EXCLUDES, OPT_IN_KINDS, PERTURBATION_KINDS, REQUIRES
from companyos_gateway.evaluation import row_views
from companyos_gateway.scenarios import Instance, catalogue
from companyos_gateway.scenarios.blocks.ticket import WRONG_STATUSES
from tests.scenarios.engine import entry_ticket

EXAMPLES = ("bug_escalation", "license_renewal", "vendor_onboarding")
"""Scenarios in which every kind is tested in each run; the slow run tests all scenarios."""

SEED = 1
STORM = profile_for(4)


@cache
def _planned(name: str, *kinds: Kind) -> Instance:
    return catalogue()[name].plan(SEED, 0, dict.fromkeys(kinds, 1.0))


def _pair(name: str, kind: Kind) -> tuple[Instance, Instance]:
    """Return an instance without the kind and one with it; both have the kind that it requires."""
    needed = [REQUIRES[kind]] if kind in REQUIRES else []
    return _planned(name, *needed), _planned(name, *needed, kind)


def _is_injected(name: str, kind: Kind) -> bool:
    return kind in {one.kind for one in _pair(name, kind)[1].injections}


def _is_other(one: Instance, other: Instance) -> bool:
    return one.source_ids != other.source_ids or one.drift != other.drift or one.faults.rates != other.faults.rates


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_has_a_rate_in_a_profile_and_a_place_in_a_budget(kind: Kind) -> None:
    assert STORM.rate(kind) > 0
    assert kind.group is Group.TRANSPORT or STORM.budget.kinds(kind.group) > 0


@pytest.mark.sample(10)
@pytest.mark.parametrize("kind", list(Kind))
def test_an_injected_kind_changes_the_documents_or_the_faults(kind: Kind) -> None:
    affected = [name for name in EXAMPLES if _is_injected(name, kind)]
    assert affected, "it strikes nowhere"
    assert not [name for name in affected if not _is_other(*_pair(name, kind))]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(catalogue()) - set(EXAMPLES)))
def test_no_injected_kind_leaves_a_scenario_unchanged(name: str) -> None:
    affected = [kind for kind in Kind if _is_injected(name, kind)]
    assert not [kind for kind in affected if not _is_other(*_pair(name, kind))]


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", sorted(catalogue()))
def test_composable_kinds_can_be_injected_into_every_scenario(name: str) -> None:
    scenario = catalogue()[name]
    spared: frozenset[Kind] = getattr(scenario, "excluded_perturbations", frozenset())
    spared |= OPT_IN_KINDS - getattr(scenario, "opt_in_kinds", frozenset())
    compose = {*PERTURBATION_KINDS, *(kind for kind in Kind if kind.group is Group.TRANSPORT)}
    assert {one.kind for one in _planned(name, *sorted(compose)).injections} == compose - spared


def test_a_wrong_status_is_not_explained_by_verification_or_blockers() -> None:
    for name in ("license_renewal", "vendor_onboarding"):
        affected = _pair(name, Kind.WRONG_STATUS)[1]
        desk, entry = affected.documents[row_views.TICKETDESK], entry_ticket(affected)
        assert entry["status"] in WRONG_STATUSES
        assert entry["verified_at"] is None
        assert not [link for link in desk["links"] if (link["kind"], link["to_key"]) == ("blocks", entry["key"])]


def test_an_unknown_assignee_is_not_in_the_directory() -> None:
    affected = _pair("license_renewal", Kind.UNKNOWN_ASSIGNEE)[1]
    people = {one["id"] for one in affected.documents[row_views.DATAHUB]["company"]["people"]}
    assert entry_ticket(affected)["assignee_id"] not in people | {None}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_metric_in_another_unit_has_an_equivalent_value(name: str) -> None:
    pair = _pair(name, Kind.UNIT_MISMATCH)
    usual, affected = ({row["id"]: row for row in one.documents[row_views.DATAHUB]["metrics"]} for one in pair)
    other = [key for key, row in usual.items() if row["unit"] != affected[key]["unit"]]
    assert other
    assert all(affected[key]["value"] / usual[key]["value"] in (10, 24) for key in other)


def test_kinds_that_exclude_each_other_are_different_kinds_of_one_group() -> None:
    assert all(one is not other and one.group is other.group for one, other in EXCLUDES)
