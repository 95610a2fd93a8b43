"""Submission of a request over HTTP, and its documentation in the OpenAPI document."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_approvalflow.main import app
from companyos_shared.framework.testing import ServiceHarness
from tests.approvalflow.builders import (
    AGENT,
    CFO,
    CONTROLLER,
    FIELDS,
    WHY,
    a_company,
    a_seed,
    delegation_row,
    request_row,
    submission,
)
from tests.approvalflow.conftest import Start


async def test_a_submitted_request_is_pending_and_belongs_to_the_caller(flow: ServiceHarness) -> None:
    answer = await flow.post("/approvals", json=submission(ticket_ref="OPS-7"))
    assert answer.status_code == 201
    assert answer.json() == {
        "id": "APR-1",
        "type_key": "onboarding",
        "subject": "V-1",
        "status": "pending",
        "requester_id": AGENT,
        "approver_id": CFO,
        "submitted_at": "2026-03-02T09:00:00Z",
        "ticket_ref": "OPS-7",
        "fields": FIELDS,
        "justification": WHY,
        "decided_at": None,
        "expires_at": "2026-03-07T09:00:00Z",
        "reason_code": None,
        "reason_ref": None,
        "version": 1,
        "approvals_needed": 1,
        "decisions": [],
        "thread": [],
        "notes": [],
        "notes_total": 0,
    }
    assert (await flow.get("/approvals/APR-1")).json() == answer.json()


async def test_a_submission_writes_one_row(flow: ServiceHarness) -> None:
    await flow.post("/approvals", json=submission())
    assert [(change.table, change.key, change.before) for change in flow.last_report.changes] == [
        ("requests", "APR-1", None)
    ]
    assert flow.last_report.next_due_at is not None


async def test_ids_of_requests_continue_after_the_seed(start: Start) -> None:
    flow = await start(a_seed(requests=[request_row(id="APR-1041"), request_row(id="APR-7", subject="V-7")]))
    assert (await flow.post("/approvals", json=submission())).json()["id"] == "APR-1042"


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"type_key": "holiday"}, 404, "approval-type-not-found"),
        ({"fields": {**FIELDS, "colour": "red"}}, 422, "unknown-field"),
        ({"fields": {**FIELDS, "score": "85"}}, 422, "wrong-field-type"),
        ({"fields": {**FIELDS, "cost_cents": True}}, 422, "wrong-field-type"),
        ({"fields": {**FIELDS, "score": None}}, 422, "wrong-field-type"),
        ({"fields": {}}, 422, "field-missing"),
        ({"fields": {**FIELDS, "cost_cents": -1}}, 422, "amount-negative"),
        ({"fields": {**FIELDS, "score_as_of": "2026-03-02T09:00:01Z"}}, 422, "evidence-in-future"),
        ({"approver_id": "E-99"}, 422, "unknown-approver"),
        ({"approver_id": "E-6"}, 403, "approver-departed"),
        ({"approver_id": AGENT}, 403, "own-request"),
        ({"approver_id": "E-7"}, 403, "approver-not-entitled"),
        ({"subject": "V-40"}, 409, "request-open"),
        ({"colour": "red"}, 422, "invalid-arguments"),
        ({"fields": []}, 422, "invalid-arguments"),
        ({"subject": 5}, 422, "invalid-arguments"),
        ({"subject": " "}, 422, "invalid-arguments"),
        ({"justification": None}, 422, "invalid-arguments"),
    ],
)
async def test_an_invalid_submission_is_rejected_and_writes_nothing(
    start: Start, changed: dict[str, Any], status: int, code: str
) -> None:
    flow = await start(a_seed(requests=[request_row()]))
    answer = await flow.post("/approvals", json=submission(**changed))
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert flow.last_report.changes == []
    assert flow.last_report.audit is not None
    assert flow.last_report.audit.code == code


@pytest.mark.parametrize("missing", ["type_key", "subject", "approver_id", "fields"])
async def test_a_submission_without_a_required_argument_is_rejected(flow: ServiceHarness, missing: str) -> None:
    body = {name: value for name, value in submission().items() if name != missing}
    answer = await flow.post("/approvals", json=body)
    assert answer.json()["code"] == "invalid-arguments"
    assert answer.json()["errors"][0]["place"] == missing


@pytest.mark.parametrize(
    ("delegation", "code"),
    [
        ({}, None),
        ({"ends_at": "2026-03-02T09:00:00Z"}, "delegation-ended"),
        ({"starts_at": "2026-03-02T09:00:01Z"}, "delegation-not-started"),
        ({"revoked_at": "2026-03-01T12:00:00Z"}, "delegation-revoked"),
        ({"type_keys": ["onboarding"], "limit_cents": 899_999}, "delegation-limit-too-low"),
    ],
)
async def test_a_delegate_is_accepted_while_the_holder_is_away(
    start: Start, delegation: dict[str, Any], code: str | None
) -> None:
    company = a_company(absences=[(CFO, "2026-03-02", "2026-03-06")])
    flow = await start(a_seed(company, delegations=[delegation_row(**delegation)]))
    assert (await flow.post("/approvals", json=submission())).json()["code"] == "approver-out-of-office"
    answer = await flow.post("/approvals", json=submission(approver_id=CONTROLLER))
    assert answer.json().get("code") == code


async def test_a_subject_is_free_again_after_its_request_has_ended(flow: ServiceHarness) -> None:
    await flow.post("/approvals", json=submission())
    await flow.post("/approvals/APR-1/withdrawal")
    assert (await flow.post("/approvals", json=submission())).json()["id"] == "APR-2"


async def test_an_unknown_request_is_not_found(flow: ServiceHarness) -> None:
    answer = await flow.get("/approvals/APR-9")
    assert (answer.status_code, answer.json()["code"]) == (404, "request-not-found")


def test_every_error_is_documented_with_its_codes() -> None:
    submit = app.openapi()["paths"]["/approvals"]["post"]["responses"]
    codes = {
        code
        for response in submit.values()
        for content in response.get("content", {}).values()
        for code in content.get("examples", {})
    }
    assert {"own-request", "approver-out-of-office", "delegation-ended", "request-open", "field-missing"} <= codes
    assert "application/problem+json" in submit["409"]["content"]


def test_bodies_have_examples() -> None:
    schemas = app.openapi()["components"]["schemas"]
    for name in ("NewApproval", "Information", "Escalation", "Cancellation", "NewNote", "NewDelegation", "Approval"):
        assert schemas[name]["examples"], name
