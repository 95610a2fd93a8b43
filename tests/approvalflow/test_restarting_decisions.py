"""Information and escalation: events that restart a decision, and events that do not."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_shared.framework.testing import ServiceHarness
from tests.approvalflow.builders import (
    AGENT,
    CEO,
    CFO,
    CONTROLLER,
    FIELDS,
    WHY,
    a_company,
    a_seed,
    delegation_row,
    reaction_row,
    request_row,
    submission,
)
from tests.approvalflow.conftest import DAY, Start, start_with_question

INFO_REQUEST = reaction_row(kind="request_info", reason_code="contract", reason="Which contract is it?")


async def _status(flow: ServiceHarness, request_id: str = "APR-1") -> str:
    return str((await flow.get(f"/approvals/{request_id}")).json()["status"])


async def test_a_request_with_an_open_question_waits_for_the_answer(start: Start) -> None:
    flow = await start_with_question(start, INFO_REQUEST)
    approval = (await flow.get("/approvals/APR-1")).json()
    assert (approval["status"], approval["decided_at"]) == ("info_requested", None)
    assert approval["decisions"][0]["reason"] == "Which contract is it?"
    await flow.advance(minutes=2 * DAY)
    assert await _status(flow) == "info_requested"


async def test_information_is_merged_before_the_decision(start: Start) -> None:
    flow = await start_with_question(start, INFO_REQUEST)
    answer = await flow.post("/approvals/APR-1/information", json={"fields": {"is_urgent": True}})
    assert answer.status_code == 200
    assert answer.json()["status"] == "pending"
    assert answer.json()["fields"] == {**FIELDS, "is_urgent": True}
    await flow.advance(minutes=DAY)
    assert await _status(flow) == "approved"


async def test_an_answer_does_not_change_the_submitted_justification_and_fields(start: Start) -> None:
    flow = await start_with_question(start, INFO_REQUEST)
    answer = await flow.post("/approvals/APR-1/information", json={"answer": "It is contract REC-12."})
    assert (answer.json()["justification"], answer.json()["fields"]) == (WHY, FIELDS)


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({}, 422, "information-unchanged"),
        ({"answer": "  "}, 422, "information-unchanged"),
        ({"answer": "", "fields": {"score": 88.5}}, 422, "information-unchanged"),
        ({"fields": {"colour": "red"}}, 422, "unknown-field"),
        ({"fields": {"score": "90"}}, 422, "wrong-field-type"),
        ({"fields": {"cost_cents": -1}}, 422, "amount-negative"),
        ({"fields": {"score_as_of": "2027-01-01T00:00:00Z"}}, 422, "evidence-in-future"),
        ({"approver_id": CEO}, 422, "invalid-arguments"),
        ({"justification": "CON-12 and more."}, 422, "invalid-arguments"),
    ],
)
async def test_invalid_information_is_rejected(start: Start, given: dict[str, Any], status: int, code: str) -> None:
    flow = await start_with_question(start, INFO_REQUEST)
    answer = await flow.post("/approvals/APR-1/information", json=given)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert await _status(flow) == "info_requested"


async def test_information_that_was_not_requested_is_rejected(flow: ServiceHarness) -> None:
    await flow.post("/approvals", json=submission())
    answer = await flow.post("/approvals/APR-1/information", json={"fields": {"score": 1}})
    assert (answer.status_code, answer.json()["code"]) == (409, "information-not-requested")


async def test_a_raised_amount_exceeds_the_limit_of_the_approver(start: Start) -> None:
    small = {**FIELDS, "cost_cents": 400_000}
    flow = await start(a_seed(reactions=[INFO_REQUEST]))
    await flow.post("/approvals", json=submission(approver_id=CONTROLLER, fields=small))
    await flow.advance(minutes=DAY)
    await flow.post("/approvals/APR-1/information", json={"fields": {"cost_cents": 600_000}})
    await flow.advance(minutes=DAY)
    approval = (await flow.get("/approvals/APR-1")).json()
    assert [found["reason_code"] for found in approval["decisions"]] == ["contract", "over_the_limit"]


async def test_the_amount_cannot_be_changed_after_the_first_approval(start: Start) -> None:
    flow = await start(a_seed(reactions=[{**INFO_REQUEST, "n": 2}]))
    await flow.post("/approvals", json=submission(fields={**FIELDS, "cost_cents": 20_000_000}))
    await flow.advance(minutes=DAY)
    assert await _status(flow) == "info_requested"
    answer = await flow.post("/approvals/APR-1/information", json={"fields": {"cost_cents": 90_000_000}})
    assert (answer.status_code, answer.json()["code"]) == (409, "amount-fixed")
    assert (await flow.post("/approvals/APR-1/information", json={"fields": {"score": 91}})).status_code == 200
    await flow.advance(minutes=DAY)
    assert await _status(flow) == "approved"


async def test_a_question_can_expire(start: Start) -> None:
    flow = await start_with_question(start, INFO_REQUEST)
    await flow.advance(minutes=5 * DAY)
    assert await _status(flow) == "expired"
    answer = await flow.post("/approvals/APR-1/information", json={"fields": {"score": 90}})
    assert answer.json()["code"] == "request-final"


async def test_an_escalated_request_is_decided_by_the_new_approver(start: Start) -> None:
    flow = await start(a_seed(delegations=[delegation_row()]))
    await flow.post("/approvals", json=submission())
    answer = await flow.post(
        "/approvals/APR-1/escalation",
        json={"approver_id": CONTROLLER, "reason": "The CFO travels.", "reason_ref": "POL-1-v1"},
    )
    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["approver_id"]) == ("escalated", CONTROLLER)
    assert answer.json()["decisions"] == [
        {
            "kind": "escalated",
            "by": AGENT,
            "at": "2026-03-02T09:00:00Z",
            "reason_code": None,
            "reason_ref": "POL-1-v1",
            "reason": "The CFO travels.",
        }
    ]
    await flow.advance(minutes=DAY)
    approval = (await flow.get("/approvals/APR-1")).json()
    assert [(found["kind"], found["by"]) for found in approval["decisions"]] == [
        ("escalated", AGENT),
        ("approved", CONTROLLER),
    ]


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("approver_id", "status", "code"),
    [
        (CFO, 409, "approver-unchanged"),
        (AGENT, 403, "own-request"),
        (CEO, 403, "approver-not-entitled"),
        (CONTROLLER, 409, "delegation-ended"),
        ("E-7", 409, "approver-out-of-office"),
        ("E-6", 403, "approver-departed"),
        ("E-99", 422, "unknown-approver"),
    ],
)
async def test_a_request_can_only_be_escalated_to_an_entitled_approver(
    start: Start, approver_id: str, status: int, code: str
) -> None:
    company = a_company(absences=[("E-7", "2026-03-02", "2026-03-02")])
    ended = delegation_row(ends_at="2026-03-01T12:00:00Z")
    flow = await start(a_seed(company, delegations=[ended, delegation_row(id="DEL-2", to_id="E-7")]))
    await flow.post("/approvals", json=submission())
    answer = await flow.post("/approvals/APR-1/escalation", json={"approver_id": approver_id})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert flow.last_report.changes == []


async def test_a_colleagues_request_can_be_escalated(start: Start) -> None:
    flow = await start(a_seed(requests=[request_row()], delegations=[delegation_row()]))
    answer = await flow.post("/approvals/APR-40/escalation", json={"approver_id": CONTROLLER})
    assert answer.json()["status"] == "escalated"


async def test_a_request_with_an_open_question_cannot_be_escalated(start: Start) -> None:
    flow = await start_with_question(start, INFO_REQUEST, delegations=[delegation_row()])
    answer = await flow.post("/approvals/APR-1/escalation", json={"approver_id": CONTROLLER})
    assert (answer.status_code, answer.json()["code"]) == (409, "information-outstanding")


async def test_the_second_approval_still_requires_the_second_role(start: Start) -> None:
    traits = [{"id": CFO, "min_minutes": 20, "max_minutes": 20}, {"id": CEO, "min_minutes": 900, "max_minutes": 900}]
    flow = await start(a_seed(traits=traits, delegations=[delegation_row(), delegation_row(id="DEL-2", from_id=CEO)]))
    await flow.post("/approvals", json=submission(fields={**FIELDS, "cost_cents": 20_000_000}))
    await flow.advance(minutes=60)
    back = await flow.post("/approvals/APR-1/escalation", json={"approver_id": CFO})
    assert (back.status_code, back.json()["code"]) == (403, "already-approved-by")
    on = await flow.post("/approvals/APR-1/escalation", json={"approver_id": CONTROLLER})
    assert on.status_code == 200
    await flow.advance(minutes=2 * DAY)
    assert await _status(flow) == "approved"


async def test_a_decided_request_cannot_be_changed(flow: ServiceHarness) -> None:
    await flow.post("/approvals", json=submission())
    await flow.advance(minutes=DAY)
    for path, body in (
        ("information", {"fields": {"score": 1}}),
        ("escalation", {"approver_id": CEO}),
        ("withdrawal", None),
        ("cancellation", {"reason_code": "duplicate", "reason_ref": "APR-9"}),
    ):
        answer = await flow.post(f"/approvals/APR-1/{path}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (409, "request-final"), path
    assert await _status(flow) == "approved"


async def test_a_decision_scheduled_before_an_escalation_is_not_made(start: Start) -> None:
    traits = [
        {"id": CFO, "min_minutes": 30, "max_minutes": 30},
        {"id": CONTROLLER, "min_minutes": 90, "max_minutes": 90},
    ]
    flow = await start(a_seed(traits=traits, delegations=[delegation_row()]))
    await flow.post("/approvals", json=submission())
    await flow.post("/approvals/APR-1/escalation", json={"approver_id": CONTROLLER})
    await flow.advance(minutes=89)
    assert await _status(flow) == "escalated"
    await flow.advance(minutes=1)
    assert await _status(flow) == "approved"


async def test_an_escalation_does_not_consume_a_planned_decision(start: Start) -> None:
    flow = await start(a_seed(reactions=[INFO_REQUEST], delegations=[delegation_row()]))
    await flow.post("/approvals", json=submission())
    await flow.post("/approvals/APR-1/escalation", json={"approver_id": CONTROLLER})
    await flow.advance(minutes=DAY)
    assert await _status(flow) == "info_requested"


async def test_each_decision_has_a_separate_delay(start: Start) -> None:
    flow = await start(a_seed(reactions=[INFO_REQUEST], traits=[{"id": CFO, "min_minutes": 1, "max_minutes": 400}]))
    await flow.post("/approvals", json=submission())
    await flow.advance(minutes=DAY)
    await flow.post("/approvals/APR-1/information", json={"fields": {"score": 90}})
    await flow.advance(minutes=DAY)
    first, second = (await flow.get("/approvals/APR-1")).json()["decisions"]
    assert first["at"].partition("T")[2] != second["at"].partition("T")[2]
