"""Delegations over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_shared.framework.testing import ServiceHarness
from tests.approvalflow.builders import AGENT, CFO, CLERK, CONTROLLER, a_company, a_seed, delegation_row, type_row
from tests.approvalflow.conftest import Start

ENDS = "2026-03-13T17:00:00Z"


@pytest.fixture
async def as_cfo(start: Start) -> ServiceHarness:
    """Provide an ApprovalFlow in which the caller acts as the CFO."""
    types = [
        type_row(),
        type_row(key="access", thresholds=[{"role": "security_lead"}], second_role=None, second_above_cents=None),
    ]
    return await start(a_seed(a_company(agent_id=CFO), approval_types=types))


async def test_the_cfo_creates_a_delegation(as_cfo: ServiceHarness) -> None:
    body = {"from_id": CFO, "to_id": CLERK, "ends_at": ENDS, "type_keys": ["onboarding"], "limit_cents": 5}
    answer = await as_cfo.post("/delegations", json=body)
    assert answer.status_code == 201
    assert answer.json() == {
        "id": "DEL-1",
        "from_id": CFO,
        "to_id": CLERK,
        "type_keys": ["onboarding"],
        "limit_cents": 5,
        "starts_at": "2026-03-02T09:00:00Z",
        "ends_at": ENDS,
        "revoked_at": None,
        "created_by": CFO,
    }
    assert (await as_cfo.get("/delegations")).json()["items"] == [answer.json()]


@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"from_id": CONTROLLER}, 403, "delegation-not-yours"),
        ({"to_id": CFO}, 422, "delegation-to-self"),
        ({"to_id": "E-6"}, 422, "unknown-delegate"),
        ({"to_id": "E-99"}, 422, "unknown-delegate"),
        ({"type_keys": ["access"]}, 403, "nothing-to-delegate"),
        ({"type_keys": ["holiday"]}, 404, "approval-type-not-found"),
        ({"ends_at": "2026-03-02T09:00:00Z"}, 422, "delegation-period"),
        ({"starts_at": "2026-03-01T09:00:00Z"}, 422, "delegation-period"),
        ({"ends_at": 1773421200}, 422, "invalid-arguments"),
        ({"ends_at": "2026-03-13T17:00:00"}, 422, "invalid-arguments"),
        ({"ends_at": "0001-01-01T00:00:00+14:00"}, 422, "invalid-arguments"),
        ({"limit_cents": -1}, 422, "invalid-arguments"),
        ({"limit_cents": "5"}, 422, "invalid-arguments"),
        ({"limit_cents": True}, 422, "invalid-arguments"),
    ],
)
async def test_an_invalid_delegation_is_rejected(
    as_cfo: ServiceHarness, changed: dict[str, Any], status: int, code: str
) -> None:
    answer = await as_cfo.post("/delegations", json={"from_id": CFO, "to_id": CLERK, "ends_at": ENDS, **changed})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert await as_cfo.rows("delegations") == {}


async def test_an_agent_without_authority_cannot_delegate(flow: ServiceHarness) -> None:
    for giver, code in ((AGENT, "nothing-to-delegate"), (CFO, "delegation-not-yours")):
        answer = await flow.post("/delegations", json={"from_id": giver, "to_id": CLERK, "ends_at": ENDS})
        assert (answer.status_code, answer.json()["code"]) == (403, code)


async def test_a_delegation_is_revoked_once(start: Start) -> None:
    flow = await start(a_seed(delegations=[delegation_row()]))
    answer = await flow.post("/delegations/DEL-1/revocation")
    assert answer.json()["revoked_at"] == "2026-03-02T09:00:00Z"
    again = await flow.post("/delegations/DEL-1/revocation")
    assert (again.status_code, again.json()["code"]) == (409, "delegation-revoked")


async def test_a_delegation_that_has_ended_is_not_revoked(start: Start) -> None:
    flow = await start(a_seed(delegations=[delegation_row(ends_at="2026-03-02T09:00:00Z")]))
    assert (await flow.post("/delegations/DEL-1/revocation")).json()["code"] == "delegation-ended"
    assert (await flow.post("/delegations/DEL-9/revocation")).json()["code"] == "delegation-not-found"


async def test_delegations_are_filtered_by_either_person(start: Start) -> None:
    rows = [delegation_row(), delegation_row(id="DEL-2", from_id=CONTROLLER, to_id=CLERK)]
    flow = await start(a_seed(delegations=rows))

    async def listed(**filters: str) -> list[str]:
        return [row["id"] for row in (await flow.get("/delegations", params=filters)).json()["items"]]

    assert await listed() == ["DEL-1", "DEL-2"]
    assert await listed(from_id=CFO) == ["DEL-1"]
    assert await listed(to_id=CLERK) == ["DEL-2"]
    assert await listed(from_id=CFO, to_id=CLERK) == []


async def test_duplicate_types_of_a_delegation_are_removed(as_cfo: ServiceHarness) -> None:
    body = {"from_id": CFO, "to_id": CLERK, "ends_at": ENDS, "type_keys": ["onboarding", "onboarding"]}
    assert (await as_cfo.post("/delegations", json=body)).json()["type_keys"] == ["onboarding"]
