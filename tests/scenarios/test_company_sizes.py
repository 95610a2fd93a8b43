"""Larger companies: other offices make searches harder, and nothing else changes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from companyos.contract import CompanySize, split_company_size
from companyos.policies import Call, TaskView
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.shifts import find_scenario
from companyos_gateway.world.base_company import STARTED_AT, find_base_company
from companyos_gateway.world.pools import pool
from companyos_players.registry import fair_player
from tests.scenarios.engine import EpisodeSpec, PlayAll, planned, verdict_of
from verification.plausibility import find_implausible

OFFICE_TEAM = "procurement-aarhus"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shift-week-large", ("shift-week", CompanySize.LARGE)),
        ("vendor_onboarding-medium", ("vendor_onboarding", CompanySize.MEDIUM)),
        ("vendor_onboarding", ("vendor_onboarding", CompanySize.SMALL)),
        ("shift-week", ("shift-week", CompanySize.SMALL)),
        ("-large", ("-large", CompanySize.SMALL)),
    ],
)
def test_a_name_ends_with_the_size_of_the_company(name: str, expected: tuple[str, CompanySize]) -> None:
    assert split_company_size(name) == expected


@pytest.mark.parametrize(
    "name",
    ["vendor_onboarding-huge", "vendor_onboarding-medium-medium", "vendor_onboarding-small", "-medium", "medium"],
)
def test_a_name_with_an_unknown_size_is_rejected(name: str) -> None:
    assert find_scenario(catalogue(), name) is None


@pytest.mark.sample(1)
@pytest.mark.parametrize("scenario", [*sorted(catalogue()), "shift-day"])
def test_the_fair_oracle_solves_every_scenario_in_a_larger_company(play_all: PlayAll, scenario: str) -> None:
    name = f"{scenario}-{CompanySize.MEDIUM}"
    specs = [EpisodeSpec(scenario=name, player=fair_player(name), seed=seed, chaos=seed) for seed in (1, 2)]
    for episode in play_all(specs):
        assert episode.result.success, episode.result.place
        assert episode.instance.scenario == name


def test_a_change_in_another_office_fails(play_all: PlayAll) -> None:
    name, changed = f"license_renewal-{CompanySize.MEDIUM}", []

    async def play(task: TaskView, call: Call) -> None:
        found = await call("ticketdesk_list_tickets", {"team_id": OFFICE_TEAM, "status": "open"})
        assert isinstance(found.result, dict)
        changed.append(found.result["items"][0]["key"])
        await call("ticketdesk_update_ticket", {"key": changed[0], "tags": ["urgent"]})
        await fair_player(name)(task, call)

    [episode] = play_all([EpisodeSpec(scenario=name, player=play, seed=1, chaos=0)])
    failed = [check for check in verdict_of(episode).checks if not check.passed]
    assert not episode.result.success
    assert [check.mismatch.entity for check in failed if check.mismatch] == [f"ticketdesk.tickets[{changed[0]}]"]


@pytest.mark.parametrize("seed", range(5))
def test_a_task_shares_no_name_and_no_id_with_other_offices(seed: int) -> None:
    base, instance = find_base_company(CompanySize.MEDIUM), planned("vendor_onboarding-medium", seed, 1)
    assert instance.started_at == STARTED_AT
    for service, document in instance.documents.items():
        assert document["base"] == base.sources[service]
        theirs = {row.get("key", row.get("id")) for rows in _lists(base.documents[service]) for row in rows}
        assert theirs.isdisjoint(row.get("key", row.get("id")) for rows in _lists(document) for row in rows)
        people = {person["name"] for person in document["company"]["people"]}
        assert people.isdisjoint(base.names)


def test_no_person_of_another_office_has_authority_or_an_open_request() -> None:
    base = find_base_company(CompanySize.MEDIUM)
    people = base.documents["ticketdesk"]["company"]["people"]
    assert 380 <= len(people) <= 480
    assert not any(person["roles"] for person in people)
    requests = base.documents["approvalflow"]["requests"]
    assert {row["status"] for row in requests} == {"approved", "rejected", "withdrawn"}


@pytest.mark.parametrize("scenario", ["audit_remediation", "vendor_onboarding"])
def test_requests_of_all_offices_are_numbered_in_the_order_of_their_submission(scenario: str) -> None:
    document = planned(f"{scenario}-medium", 3, 1).documents["approvalflow"]
    offices = find_base_company(CompanySize.MEDIUM).documents["approvalflow"]["requests"]
    rows = [(int(row["id"].removeprefix("APR-")), row["submitted_at"]) for row in document["requests"]]
    for number, at in rows:
        near = [row for row in offices if abs(int(row["id"].removeprefix("APR-")) - number) > 12]
        assert all((int(row["id"].removeprefix("APR-")) < number) == (row["submitted_at"] <= at) for row in near)
    days = [at[:10] for _, at in sorted(rows)]
    assert days == sorted(days)


def test_tickets_of_an_office_mention_only_that_office() -> None:
    offices = set(pool("offices")["office"])
    for ticket in find_base_company(CompanySize.MEDIUM).documents["ticketdesk"]["tickets"]:
        places = re.findall(r"\bin (\w+)", f"{ticket['title']} {ticket['description']}")
        assert {place.lower() for place in places if place in offices} <= {ticket["team_id"].rpartition("-")[2]}


def test_a_policy_of_an_office_refers_to_another_one_of_that_office() -> None:
    policies = find_base_company(CompanySize.MEDIUM).documents["datahub"]["policies"]
    titles = {row["policy_id"]: row["title"] for row in policies}
    for row in policies:
        [(policy_id, title)] = re.findall(r"(POL-\d+) \(([\w ]+)\)", row["body"])
        office = row["title"].partition(" (")[2]
        assert policy_id != row["policy_id"]
        assert titles[policy_id] == f"{title} ({office}"


def test_other_offices_are_plausible() -> None:
    base, instance = find_base_company(CompanySize.MEDIUM), planned("vendor_onboarding", 1, 1)
    kept = ("approval_types", "sources")
    documents = {
        service: {
            name: base.documents[service].get(name, value) if name not in kept else value
            for name, value in document.items()
        }
        for service, document in instance.documents.items()
    }
    offices = replace(instance, documents=documents, started_at=base.started_at)
    # Requests were decided by the limits of each office, hence without the rule `approvers`.
    assert [str(one) for one in find_implausible(offices) if one.rule != "approvers"] == []


def _lists(document: object) -> list[list[dict[str, str]]]:
    assert isinstance(document, dict)
    return [value for name, value in document.items() if isinstance(value, list) and name != "scheduled_events"]
