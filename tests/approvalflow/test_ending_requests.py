"""Withdrawing, cancelling and annotating requests; versions."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.wire.company import Team
from tests.approvalflow.builders import AGENT, CEO, CLERK, a_company, a_seed, request_row, submission, type_row
from tests.approvalflow.conftest import Start

REASON = {"reason_code": "policy_violation", "reason_ref": "POL-1-v1"}


async def test_the_requester_withdraws_a_request(flow: ServiceHarness) -> None:
    await flow.post("/approvals", json=submission())
    answer = await flow.post("/approvals/APR-1/withdrawal")
    assert (answer.json()["status"], answer.json()["version"]) == ("withdrawn", 2)


async def test_another_person_cannot_withdraw_a_request(start: Start) -> None:
    flow = await start(a_seed(requests=[request_row()]))
    answer = await flow.post("/approvals/APR-40/withdrawal")
    assert (answer.status_code, answer.json()["code"]) == (403, "not-the-requester")


@pytest.mark.parametrize(
    ("type_changed", "request_changed"),
    [({}, {"requester_id": AGENT}), ({}, {"approver_id": AGENT}), ({"administered_by": ["T-1"]}, {})],
)
async def test_a_responsible_person_cancels_a_request_with_a_reason(
    start: Start, type_changed: dict[str, Any], request_changed: dict[str, Any]
) -> None:
    flow = await start(a_seed(approval_types=[type_row(**type_changed)], requests=[request_row(**request_changed)]))
    answer = await flow.post("/approvals/APR-40/cancellation", json=REASON)
    assert answer.json()["status"] == "cancelled"
    assert (answer.json()["reason_code"], answer.json()["reason_ref"]) == ("policy_violation", "POL-1-v1")


async def test_another_person_cannot_cancel_a_request(start: Start) -> None:
    company = a_company()
    teams = [*company.teams, Team(id="T-2", name="Audit", department="Audit", lead_id=CLERK)]
    company = company.model_copy(update={"teams": tuple(teams)})
    flow = await start(a_seed(company, approval_types=[type_row(administered_by=["T-2"])], requests=[request_row()]))
    answer = await flow.post("/approvals/APR-40/cancellation", json=REASON)
    assert (answer.status_code, answer.json()["code"]) == (403, "cancellation-not-allowed")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"] == (
        "APR-40 can be cancelled by its requester (E-7), by its current approver (E-2) and by the teams that "
        "administer onboarding (T-2); got E-1"
    )
    assert flow.last_report.changes == []
    assert "cancel-submit" not in (await flow.get("/pages/requests/APR-40")).text


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"reason_code": "policy_violation"},
        {**REASON, "reason_code": "boredom"},
        {**REASON, "reason_ref": ""},
        {**REASON, "reason_ref": " "},
    ],
)
async def test_a_cancellation_requires_a_typed_reason(start: Start, body: dict[str, Any]) -> None:
    flow = await start(a_seed(requests=[request_row()]))
    answer = await flow.post("/approvals/APR-40/cancellation", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-arguments")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("withdrawal", None),
        ("cancellation", REASON),
        ("escalation", {"approver_id": CEO}),
        ("information", {"answer": "Another one."}),
        ("notes", {"body": "Seen."}),
    ],
)
async def test_every_write_to_a_request_checks_its_version(
    flow: ServiceHarness, path: str, body: dict[str, Any] | None
) -> None:
    await flow.post("/approvals", json=submission())
    answer = await flow.post(f"/approvals/APR-1/{path}", json=body, headers={"If-Match": "2"})
    assert (answer.status_code, answer.json()["code"]) == (412, "stale-version")
    assert flow.last_report.changes == []
    current = await flow.post(f"/approvals/APR-1/{path}", json=body, headers={"If-Match": "1"})
    assert current.json().get("code") != "stale-version"


async def test_a_note_is_listed_with_its_request(start: Start) -> None:
    flow = await start(a_seed(requests=[request_row(status="expired")]))
    answer = await flow.post("/approvals/APR-40/notes", json={"body": "Asked again as APR-41."})
    assert answer.status_code == 201
    assert answer.json() == {
        "id": "APR-40-N1",
        "author_id": AGENT,
        "at": "2026-03-02T09:00:00Z",
        "body": "Asked again as APR-41.",
    }
    approval = (await flow.get("/approvals/APR-40")).json()
    assert (approval["notes"], approval["version"]) == ([answer.json()], 1)


@pytest.mark.parametrize("minutes", [0, 1])
async def test_the_latest_five_notes_are_shown_in_the_order_of_their_creation(
    flow: ServiceHarness, minutes: int
) -> None:
    await flow.post("/approvals", json=submission())
    for n in range(12):
        await flow.advance(minutes=minutes)
        await flow.post("/approvals/APR-1/notes", json={"body": f"Note {n}"})
    approval = (await flow.get("/approvals/APR-1")).json()
    assert [note["body"] for note in approval["notes"]] == [f"Note {n}" for n in range(7, 12)]
    assert approval["notes_total"] == 12


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("APR-1", {"body": "  "}, "note-blank"),
        ("APR-1", {"body": ""}, "invalid-arguments"),
        ("APR-1", {"body": "x" * 1001}, "invalid-arguments"),
        ("APR-9", {"body": "Hello."}, "request-not-found"),
    ],
)
async def test_an_invalid_note_is_rejected(flow: ServiceHarness, path: str, body: dict[str, Any], code: str) -> None:
    await flow.post("/approvals", json=submission())
    assert (await flow.post(f"/approvals/{path}/notes", json=body)).json()["code"] == code
