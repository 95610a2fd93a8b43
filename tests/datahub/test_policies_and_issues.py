"""Policies and data issues over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_shared.framework.testing import ServiceHarness
from tests.datahub.builders import problem

REPORT: dict[str, Any] = {"subject": "MET-1", "kind": "stale", "description": "Eight days old."}
REASON = {"reason_code": "data_unavailable", "reason_ref": "SRC-RISK"}


async def versions(hub: ServiceHarness, **filters: str) -> list[tuple[str, int]]:
    found = (await hub.get("/policies", params=filters)).json()["items"]
    return [(each["policy_id"], each["version"]) for each in found]


async def test_superseded_versions_are_found_too(hub: ServiceHarness) -> None:
    assert await versions(hub, query="onboarding vendor") == [("POL-007", 1), ("POL-007", 2)]


async def test_policies_are_found_by_topic_and_words(hub: ServiceHarness) -> None:
    assert await versions(hub, topic="finance") == [("POL-012", 1)]
    assert await versions(hub, topic="finance", query="onboarding") == []
    assert await versions(hub, query="receipt") == [("POL-012", 1)]
    assert len(await versions(hub)) == 3


async def test_the_version_in_force_is_shown_by_default(hub: ServiceHarness) -> None:
    policy = (await hub.get("/policies/POL-007")).json()
    assert (policy["version"], policy["parameters"]) == (2, {"min_compliance_score": 80})


async def test_a_superseded_version_can_be_requested(hub: ServiceHarness) -> None:
    policy = (await hub.get("/policies/POL-007", params={"version": 1})).json()
    assert (policy["effective_to"], policy["parameters"]) == ("2025-12-31", {"min_compliance_score": 75})


async def test_the_version_in_force_depends_on_the_simulated_day(hub: ServiceHarness) -> None:
    hub.now = hub.now.replace(year=2025)
    assert (await hub.get("/policies/POL-007")).json()["version"] == 1
    hub.now = hub.now.replace(year=2022)
    assert problem(await hub.get("/policies/POL-007")) == (404, "policy-not-in-force")


async def test_an_unknown_policy_or_version_is_not_found(hub: ServiceHarness) -> None:
    assert problem(await hub.get("/policies/POL-1")) == (404, "policy-not-found")
    assert problem(await hub.get("/policies/POL-007", params={"version": 9})) == (404, "policy-not-found")
    assert problem(await hub.get("/policies/POL-007", params={"version": 0})) == (422, "invalid-arguments")


async def test_an_issue_is_stored_with_its_reason(hub: ServiceHarness) -> None:
    answer = await hub.post("/data-issues", json=REPORT | REASON)
    assert answer.status_code == 201
    assert answer.json() == REPORT | REASON | {
        "id": "DI-1",
        "reported_by": "E-1010",
        "reported_at": "2026-03-02T09:00:00Z",
    }
    assert await hub.rows("data_issues") == {"DI-1": answer.json()}


@pytest.mark.parametrize("subject", ["MET-1", "SRC-ERP", "VEN-201", "PO-3311", "E-1009", "POL-007", "POL-007-v1"])
async def test_an_issue_can_refer_to_any_datahub_object(hub: ServiceHarness, subject: str) -> None:
    answer = await hub.post("/data-issues", json=REPORT | {"subject": subject})
    assert (answer.status_code, answer.json()["reason_code"]) == (201, None)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"subject": "OPS-1"}, "unknown-subject"),
        ({"reason_code": "data_unavailable"}, "reason-incomplete"),
        ({"reason_ref": "SRC-RISK"}, "reason-incomplete"),
        ({"kind": "odd"}, "invalid-arguments"),
        ({"description": ""}, "invalid-arguments"),
        ({"reason_code": "because", "reason_ref": "x"}, "invalid-arguments"),
    ],
)
async def test_an_invalid_report_is_rejected(hub: ServiceHarness, change: dict[str, str], code: str) -> None:
    assert problem(await hub.post("/data-issues", json=REPORT | change)) == (422, code)
    assert await hub.rows("data_issues") == {}
