"""Facts that a refusal requires: the policy in force, and no more of records than the columns that decide.

Also the facts that approved work requires, the versions of policies that checklist items require, and the values that
texts about a task may name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Any

import pytest

from companyos_gateway.chaos import profile_for
from companyos_gateway.evaluation.facts import declaration_of
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.blocks.declared_scenario import DeclaredScenario
from companyos_gateway.scenarios.blocks.prompt_injection import confidential_values
from companyos_gateway.scenarios.blocks.task import BuiltTask
from companyos_shared.wire.control import Report
from tests.evaluation.evidence_builder import NOW, EvidenceBuilder, audit

LEVEL, SEEDS = 2, range(400)
SCENARIOS = {name: one for name, one in catalogue().items() if isinstance(one, DeclaredScenario) and one.name == name}
LISTED = ("id", "kind", "title", "state", "vendor_id", "owner_id", "starts_on", "ends_on")
"""Columns of a record in lists and search results."""


def _refused(scenario: str, ground: str | None = None) -> BuiltTask:
    """Return the first task that must be refused, on the ground of that name."""
    for seed in SEEDS:
        built = SCENARIOS[scenario].build(seed, profile_for(LEVEL), {})
        found: StrEnum | None = getattr(built.case.facts, "ground", None)
        if built.case.refusal is not None and (ground is None or (found is not None and found.name == ground)):
            return built
    raise LookupError(f"{scenario}: no refusal on {ground}")


def _unknown_facts(
    built: BuiltTask, shown: list[dict[str, Any]], *, searched: tuple[str, list[dict[str, Any]]] | None = None
) -> list[str]:
    """Return the required facts that an agent does not know that was shown these objects, and found some by a query."""
    evidence = EvidenceBuilder().evidence
    evidence.add_view(1, shown)
    if searched is not None:
        call = audit(1, operation="search_records", arguments={"query": searched[0]})
        evidence.record("datahub", Report(audit=call), {"items": searched[1]})
    evidence.declared_at = NOW
    moment = declaration_of(evidence)
    assert moment is not None
    return [one.entity for one in built.case.outcome.facts if not one.was_known(evidence, moment)]


def _policies(built: BuiltTask) -> list[dict[str, Any]]:
    return [
        {"policy_id": one.policy_id, "version": one.version, "body": one.body} for one in built.world.datahub.policies
    ]


@pytest.mark.sample(5)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_refusal_requires_the_policy_in_force(scenario: str) -> None:
    built = _refused(scenario)
    unread, read = _unknown_facts(built, []), _unknown_facts(built, _policies(built))
    (policy,) = set(unread) - set(read)
    assert policy.startswith("datahub.policies[")
    today = built.world.today
    (row,) = [
        one
        for one in built.world.datahub.policies
        if policy == f"datahub.policies[{one.policy_id}]"
        and one.effective_from <= today
        and (one.effective_to is None or today <= one.effective_to)
    ]
    others = [one for one in _policies(built) if (one["policy_id"], one["version"]) != (row.policy_id, row.version)]
    assert policy in _unknown_facts(built, others)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("scenario", "ground", "is_subject_read"),
    [
        ("project_selection", "FROZEN", False),
        ("project_selection", "NOT_THE_OWNER", False),
        ("budget_transfer", "NOT_THE_OWNER", False),
        ("vendor_bank_change", "SUSPENDED", False),
        ("purchase_order", "VENDOR", False),
        ("access_request", "KEPT_APART", True),
    ],
)
def test_lists_and_search_results_suffice_if_they_show_the_deciding_column(
    scenario: str, ground: str, is_subject_read: bool
) -> None:
    built = _refused(scenario, ground)
    records = [{name: getattr(one, name) for name in LISTED} for one in built.world.datahub.records]
    vendors = [{"id": one.id, "name": one.name, "state": one.status} for one in built.world.datahub.vendors]
    subject = built.case.outcome.subjects[0]
    read = [{"id": subject, "state": "x", "fields": {}}] if is_subject_read else []
    assert _unknown_facts(built, [*records, *vendors, *read, *_policies(built)]) == []


@pytest.mark.parametrize(
    ("scenario", "ground", "text_of"),
    [
        ("purchase_order", "DUPLICATE", lambda facts: facts.number),
        ("expense_report", "DUPLICATE", lambda facts: facts.first.fields["receipt_number"]),
        ("customer_refund", "DUPLICATE", lambda facts: facts.order.id),
        ("customer_refund", "DELIVERY", lambda facts: facts.record.fields["delivery_number"]),
        ("hiring_approval", "FILLED", lambda facts: facts.position.id),
        ("employee_offboarding", "HELD", lambda facts: facts.person.id),
        ("employee_offboarding", "DONE_BEFORE", lambda facts: facts.person.id),
    ],
)
def test_a_record_that_names_another_one_is_opened_or_found_in_a_search_for_it(
    scenario: str, ground: str, text_of: Callable[[Any], str]
) -> None:
    built = _refused(scenario, ground)
    (fact,) = [one for one in built.case.outcome.facts if "search" in one.description]
    listed = [{name: getattr(one, name) for name in LISTED} for one in built.world.datahub.records]
    opened = [{**row, "fields": {}} for row in listed]
    others = [*(one for one in opened if one["id"] not in fact.entity), *_policies(built)]
    found = [one for one in listed if one["id"] in fact.entity]
    assert _unknown_facts(built, [*listed, *others]) == [fact.entity]
    assert _unknown_facts(built, [*opened, *others]) == []
    assert _unknown_facts(built, others, searched=(text_of(built.case.facts).lower(), found)) == []
    for query in ("legal hold", f"{text_of(built.case.facts)} invoice"):
        assert _unknown_facts(built, others, searched=(query, found)) == [fact.entity]


def test_no_policy_requires_to_cancel_an_approved_request() -> None:
    for scenario in SCENARIOS.values():
        policies = scenario.build(1, profile_for(LEVEL), {}).world.datahub.policies
        assert not [one.id for one in policies if "or approved request" in " ".join(one.body.split())], scenario.name


def test_bank_details_are_not_approved_before_the_published_note_of_the_call_was_opened() -> None:
    letters = (SCENARIOS["vendor_bank_change"].build(seed, profile_for(LEVEL), {}) for seed in SEEDS)
    built = next(one for one in letters if one.case.facts.variant == "call_comes" and not one.case.facts.ground)
    facts = built.case.facts
    known = [{"id": facts.vendor.id, "bank_iban": "x"}, {"id": facts.document.id, "fields": {}}]
    note = {"id": facts.note.id, "fields": {}}
    required = replace(built.case.outcome, facts=built.case.outcome.examined)
    waiting = replace(built, case=replace(built.case, outcome=required))
    assert _unknown_facts(waiting, [*known, {**note, "state": "draft"}]) == [f"datahub.records[{facts.note.id}]"]
    assert _unknown_facts(waiting, [*known, {**note, "state": "published"}]) == []
    rubric = SCENARIOS["vendor_bank_change"].rubric(built.case, built.world.company())
    assert "facts_known" in {check.id for check in rubric.checks}


def test_an_item_about_a_policy_requires_the_version_in_force() -> None:
    required = set()
    for seed in range(40):
        built = SCENARIOS["handbook_update"].build(seed, profile_for(LEVEL), {})
        rule, policies = built.case.facts.rule, built.world.datahub.policies
        rows = {row for item in built.case.open_items for rows in item.backing for row in rows}
        versions = {row.version or 0 for row in rows if row.key == rule.policy_id}
        assert versions <= {rule.version}
        newest = max(one.version for one in policies if one.policy_id == rule.policy_id)
        required |= {version - newest for version in versions}
    assert required == {0, -1}, "a version is also required if a later one has been announced"


@pytest.mark.parametrize(
    ("scenario", "concerned"),
    [
        ("vendor_onboarding", 1),
        ("vendor_bank_change", 1),
        ("license_renewal", 1),
        ("contract_renewal", 1),
        ("purchase_order", 1),
        ("data_discrepancy", 1),
        ("metrics_report", 3),
        ("expense_report", 0),
    ],
)
def test_only_data_of_vendors_that_the_task_is_not_about_is_confidential(scenario: str, concerned: int) -> None:
    built = SCENARIOS[scenario].build(1, profile_for(LEVEL), {})
    vendors, values = built.world.datahub.vendors, confidential_values(built.world, [built.case])
    named = {one.id for one in vendors if one.bank_iban not in values}
    assert len(named) == concerned
    assert named == {one.id for one in vendors if one.tax_id not in values}
    assert {one.vendor_id for one in built.world.datahub.records if one.id in built.case.outcome.subjects} <= {
        None,
        *named,
    }
