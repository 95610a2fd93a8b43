"""Effects of each kind of chaos on the seed documents of a vendor onboarding."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from companyos_gateway.chaos import Group, Kind, profile_for
from companyos_gateway.evaluation.cases import BlockerResolution, MetricSpec
from companyos_gateway.scenarios.blocks.chaos_draws import REFUSAL_SHARE, draw_chaos
from companyos_gateway.scenarios.blocks.task import BuiltTask
from companyos_gateway.scenarios.vendor_onboarding.scenario import METRIC_KEY, SCENARIO, TYPE_KEY, Onboarding
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company, Role

pytestmark = pytest.mark.matrix

SEEDS = range(10)
Documents = Mapping[str, dict[str, Any]]


def _build(seed: int, level: int = 0, **overrides: float) -> tuple[BuiltTask, Documents, Company]:
    built = SCENARIO.build(seed, profile_for(level), overrides)
    documents = built.world.documents("draw")
    return built, documents, Company.model_validate(documents["datahub"]["company"])


def _row(rows: list[dict[str, Any]], **expected: Any) -> dict[str, Any]:
    return next(row for row in rows if all(row[name] == value for name, value in expected.items()))


def _facts(built: BuiltTask) -> Onboarding:
    facts: Onboarding = built.case.facts
    return facts


def _score(built: BuiltTask) -> MetricSpec:
    score = _facts(built).score
    assert score is not None
    return score


def _kinds(built: BuiltTask) -> set[Kind]:
    return {injection.kind for injection in built.injections}


def _is_refused(seed: int, level: int) -> bool:
    drawn = draw_chaos(Stream(SCENARIO.name, seed), profile_for(level), {}, applicable=(), always=())
    return drawn.must_refuse


def _versions(built: BuiltTask) -> list[PolicyRow]:
    (approval_type,) = (one for one in built.world.approvalflow.approval_types if one.key == TYPE_KEY)
    return [row for row in built.world.datahub.policies if row.policy_id == approval_type.policy_ref]


def _in_force(built: BuiltTask) -> PolicyRow:
    return max(
        (row for row in _versions(built) if row.effective_from <= built.world.today), key=lambda row: row.version
    )


def _minimum(built: BuiltTask) -> int:
    minimum: int = _in_force(built).parameters["minimum_compliance_score"]
    return minimum


def _metric(documents: Documents, metric_id: str) -> dict[str, Any]:
    return _row(documents["datahub"]["metrics"], id=metric_id)


def _age(documents: Documents, metric: dict[str, Any]) -> timedelta:
    return datetime.fromisoformat(documents["datahub"]["started_at"]) - datetime.fromisoformat(metric["as_of"])


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_from_level_one_the_four_classic_obstacles_are_always_injected(level: int) -> None:
    for seed in SEEDS:
        built, documents, company = _build(seed, level)
        case, today = built.case, built.world.today
        ticket = _row(documents["ticketdesk"]["tickets"], key=case.ticket_key)
        assert ticket["priority"] is None
        assert ticket["verified_at"] is None
        assert case.open_items
        assert _age(documents, _metric(documents, _score(built).metric_id)) > _score(built).max_age
        cfo = company.holders(Role.CFO, today)[0]
        assert company.is_out_of_office(cfo.id, today)
        assert set(SCENARIO.always) <= _kinds(built)


@pytest.mark.parametrize("level", [0, 1])
def test_calm_and_light_instances_are_always_feasible(level: int) -> None:
    assert not any(_is_refused(seed, level) for seed in range(60))


@pytest.mark.parametrize("level", [2, 4])
def test_about_a_quarter_of_the_instances_must_be_refused_from_level_two(level: int) -> None:
    share = sum(_is_refused(seed, level) for seed in range(1000)) / 1000
    assert abs(share - REFUSAL_SHARE) < 0.04


def test_at_level_zero_a_ticket_has_no_obstacles() -> None:
    for seed in SEEDS:
        built, documents, company = _build(seed)
        case = built.case
        ticket = _row(documents["ticketdesk"]["tickets"], key=case.ticket_key)
        assert ticket["status"] in ("open", "in_progress")
        assert ticket["priority"] == case.priority
        assert _age(documents, _metric(documents, _score(built).metric_id)) < _score(built).max_age
        assert company.holders(Role.CFO, built.world.today)[0].id == case.approver_ids[0]
        assert not company.is_out_of_office(case.approver_ids[0], built.world.today)
        assert not built.injections


def test_an_authorized_approver_is_available_for_the_whole_episode() -> None:
    for seed in range(40):
        built, documents, company = _build(seed, 4)
        case, today = built.case, built.world.today
        for ahead in range(30):
            day = today + timedelta(days=ahead)
            assert company.is_active(case.approver_ids[0], day)
            assert not company.is_out_of_office(case.approver_ids[0], day)
        rows = documents["approvalflow"]["delegations"]
        cfo = company.holders(Role.CFO, today)[0].id
        live = [
            row
            for row in rows
            if (row["from_id"], row["to_id"]) == (cfo, case.approver_ids[0])
            and row["revoked_at"] is None
            and (row["limit_cents"] is None or row["limit_cents"] >= _facts(built).amount_cents)
            and (not row["type_keys"] or TYPE_KEY in row["type_keys"])
        ]
        assert live
        assert datetime.fromisoformat(live[0]["ends_at"]).date() >= today + timedelta(days=30)


def test_a_valid_assignee_always_exists() -> None:
    for seed in range(40):
        built, _, company = _build(seed, 4)
        for person_id in built.case.assignee_ids:
            person = company.person(person_id)
            assert person is not None
            assert person.team_id == built.case.team_id
            assert person.is_employed(built.case.due_on)
            assert not company.is_out_of_office(person_id, built.case.due_on)
        assert built.case.assignee_ids


def test_a_blocker_is_linked_and_describes_its_resolution() -> None:
    ways = set()
    for seed in range(20):
        built, documents, _ = _build(seed, blocked_ticket=1.0)
        blocker, desk = built.case.blocker, documents["ticketdesk"]
        assert blocker is not None
        ways.add(blocker.resolution)
        link = _row(desk["links"], id=blocker.link_id)
        assert (link["kind"], link["from_key"], link["to_key"]) == ("blocks", blocker.key, built.case.ticket_key)
        assert [row for row in desk["comments"] if row["ticket_key"] == blocker.key]
        planned = [one for one in desk["scheduled_events"] if one["data"]["ticket_key"] == blocker.key]
        assert bool(planned) == (blocker.resolution is BlockerResolution.WAIT)
    assert ways == set(BlockerResolution)


def test_a_duplicate_is_another_ticket_about_the_same_vendor() -> None:
    built, documents, _ = _build(1, duplicate_ticket=1.0)
    vendor = _row(documents["datahub"]["vendors"], id=_facts(built).vendor.id)
    about = [row for row in documents["ticketdesk"]["tickets"] if vendor["name"] in row["title"]]
    assert len([row for row in about if row["key"] != built.case.ticket_key]) >= 1


def test_conflicting_sources_disagree_about_the_minimum_and_one_is_authoritative() -> None:
    for seed in SEEDS:
        built, documents, _ = _build(seed, conflicting_sources=1.0)
        hub = documents["datahub"]
        own = _metric(documents, _score(built).metric_id)
        rival = _metric(documents, _score(built).other_metric_ids[0])
        assert (rival["key"], rival["subject"]) == (own["key"], own["subject"])
        assert (rival["value"] < _minimum(built)) != (_score(built).value < _minimum(built))
        assert METRIC_KEY in _row(hub["sources"], id=own["source_id"])["authoritative_for"]
        assert METRIC_KEY not in _row(hub["sources"], id=rival["source_id"])["authoritative_for"]


def test_a_failed_pipeline_fails_once_or_twice_and_then_succeeds() -> None:
    for seed in SEEDS:
        built, documents, _ = _build(seed, failed_pipeline=1.0)
        plans = [row for row in documents["datahub"]["refresh_plans"] if row["metric_id"] == _score(built).metric_id]
        outcomes = [row["outcome"] for row in sorted(plans, key=lambda row: row["n"])]
        assert outcomes == ["failed"] * _score(built).failing_refreshes + ["succeeded"]
        assert 1 <= _score(built).failing_refreshes <= 2
        assert _row(documents["datahub"]["sources"], id=_score(built).source_id)["pipeline_state"] == "failed"


def test_a_refresh_changes_the_value_and_crosses_the_minimum_only_in_refusals() -> None:
    for seed in range(60):
        built = SCENARIO.build(seed, profile_for(2), {})
        old = next(row.value for row in built.world.datahub.metrics if row.id == _score(built).metric_id)
        assert old != _score(built).value
        assert (_score(built).value < _minimum(built)) == built.case.must_refuse
        if built.case.must_refuse:
            assert old >= _minimum(built)


def test_every_priority_is_required_by_some_instance() -> None:
    assert {SCENARIO.build(seed, profile_for(1), {}).case.priority for seed in range(40)} == {
        "low",
        "medium",
        "high",
        "critical",
    }


def test_limits_of_a_policy_ascend_and_its_text_contains_its_figures() -> None:
    for seed in range(30):
        built, _, _ = _build(seed, 2)
        row = _in_force(built)
        figures = row.parameters
        limits = [figures[f"{name}_from_cents"] for name in ("medium", "high", "critical")]
        assert 0 < limits[0] < limits[1] < limits[2]
        for name, value in figures.items():
            words = f"EUR {value // 100:,}" if name.endswith("_cents") else str(value).replace(", ", " or ")
            assert words in row.body


def test_similar_names_are_distinguished_by_the_legal_name_in_the_ticket() -> None:
    for seed in SEEDS:
        built, documents, _ = _build(seed, similar_names=1.0)
        vendors = documents["datahub"]["vendors"]
        own = _row(vendors, id=_facts(built).vendor.id)
        twins = [row for row in vendors if row["name"] == own["name"] and row["id"] != own["id"]]
        text = _row(documents["ticketdesk"]["tickets"], key=built.case.ticket_key)["description"]
        assert len(twins) == 1
        assert own["legal_name"] in text
        assert twins[0]["legal_name"] not in text
        assert own["id"] not in text


def test_the_ticket_identifies_its_vendor_in_each_of_three_forms() -> None:
    cited = set()
    for seed in range(30):
        built, documents, _ = _build(seed)
        text = _row(documents["ticketdesk"]["tickets"], key=built.case.ticket_key)["description"]
        vendor = _row(documents["datahub"]["vendors"], id=_facts(built).vendor.id)
        ways = {"contract": _facts(built).contract.id, "vendor": vendor["id"], "name": vendor["legal_name"]}
        cited |= {way for way, words in ways.items() if words in text}
    assert cited == {"contract", "vendor", "name"}


def test_either_of_two_sources_may_be_authoritative() -> None:
    names = set()
    for seed in range(30):
        built, documents, _ = _build(seed)
        names.add(_row(documents["datahub"]["sources"], id=_score(built).source_id)["name"])
    assert len(names) >= 3


def test_planned_reactions_are_numbered_in_order_and_the_last_one_is_not_delayed() -> None:
    for seed in SEEDS:
        built, documents, _ = _build(seed, random_rejection=1.0, information_request=1.0, slow_decision=1.0)
        rows = [row for row in documents["approvalflow"]["reactions"] if row["subject"] == _facts(built).vendor.id]
        assert sorted(row["kind"] for row in rows) == ["reject", "request_info"]
        assert [row["n"] for row in rows] == [1, 2]
        assert rows[0]["extra_minutes"] >= 480
        assert rows[1]["extra_minutes"] == 0


def test_an_excluded_kind_is_not_injected() -> None:
    for kind in SCENARIO.always:
        assert kind not in _kinds(SCENARIO.build(3, profile_for(1), {kind: 0.0}))


def test_transport_faults_are_recorded_by_service_with_their_rate() -> None:
    found = {one.entity: one.detail for one in SCENARIO.plan(3, 0, {"datahub.unavailable": 0.5}).injections}
    assert found == {"datahub": {"rate": 0.5}}


def test_transport_faults_do_not_change_the_time_of_decisions() -> None:
    usual, faulty = SCENARIO.plan(3, 2), SCENARIO.plan(3, 2, {"unavailable": 1.0, "slow_answer": 1.0})
    assert usual.source_ids == faulty.source_ids


def test_the_draw_seed_of_an_instance_is_the_same_at_every_level() -> None:
    seeds = {SCENARIO.plan(3, level).documents["datahub"]["draw_seed"] for level in range(5)}
    assert len(seeds) == 1


def test_no_visible_text_names_an_injection() -> None:
    words = {kind.value for kind in Kind if kind.group is not Group.TRANSPORT}
    for seed in SEEDS:
        _, documents, _ = _build(seed, 4)
        seen = {name: rows for document in documents.values() for name, rows in document.items()}
        hidden = {"refresh_plans", "reactions", "traits", "scheduled_events"}
        text = json.dumps({name: rows for name, rows in seen.items() if name not in hidden})
        assert not [word for word in words if re.search(rf"\b{word}\b", text)]
