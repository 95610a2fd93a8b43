"""Validation and insertion of the seed document, and its scheduled events."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from companyos_approvalflow.main import SERVICE
from companyos_shared.framework.testing import ServiceHarness
from tests.approvalflow.builders import (
    CFO,
    CLERK,
    a_seed,
    delegation_row,
    reaction_row,
    request_row,
    submission,
    type_row,
)
from tests.approvalflow.conftest import Start

DUE = "2026-03-02T10:00:00Z"


def _note(**changed: Any) -> dict[str, Any]:
    return {"id": "NOTE-1", "request_id": "APR-40", "author_id": CLERK, "at": DUE, "body": "Hm.", **changed}


def _event(kind: str, data: dict[str, Any], due_at: str = DUE) -> dict[str, Any]:
    return {"due_at": due_at, "kind": kind, "data": data}


@pytest.mark.parametrize(
    ("lists", "place"),
    [
        ({"requests": [request_row(approver_id="E-99")]}, r"requests\[0\].approver_id"),
        ({"requests": [request_row(requester_id="E-99")]}, r"requests\[0\].requester_id"),
        ({"requests": [request_row(type_key="holiday")]}, r"requests\[0\].type_key"),
        ({"requests": [request_row(), request_row()]}, r"requests\[1\]: duplicate id APR-40"),
        ({"requests": [request_row(), request_row(id="APR-41")]}, r"requests\[1\].subject"),
        ({"requests": [request_row(expires_at="2026-03-02T09:00:00Z")]}, r"requests\[0\].expires_at"),
        ({"requests": [request_row(submitted_at="2026-03-02T08:30:00")]}, r"requests\.0\.submitted_at"),
        ({"notes": [_note()]}, r"notes\[0\].request_id"),
        ({"delegations": [delegation_row(to_id="E-99")]}, r"delegations\[0\].to_id"),
        ({"delegations": [delegation_row(type_keys=["holiday"])]}, r"delegations\[0\].type_keys"),
        ({"traits": [{"id": "E-99", "min_minutes": 1, "max_minutes": 2}]}, r"traits\[0\].id"),
        ({"traits": [{"id": CFO, "min_minutes": 3, "max_minutes": 2}]}, "min_minutes"),
        ({"reactions": [reaction_row(type_key="holiday")]}, r"reactions\[0\].type_key"),
        ({"approval_types": [type_row(thresholds=[{"up_to_cents": 5, "role": "cfo"}])]}, "thresholds"),
        ({"approval_types": [type_row(thresholds=[{"role": "cfo"}, {"role": "ceo"}])]}, "thresholds"),
        ({"approval_types": [type_row(amount_field="score")]}, "amount_field"),
        ({"approval_types": [type_row(second_role=None)]}, "second_role and second_above_cents"),
        ({"approval_types": [type_row(colour="red")]}, "colour"),
        ({"scheduled_events": [_event("note", _note())]}, r"scheduled_events\[0\].data.request_id"),
        ({"scheduled_events": [_event("note", {"id": "x"})]}, "scheduled_events"),
        ({"scheduled_events": [_event("request", request_row())]}, "must be pending with submitted_at equal to due_at"),
        (
            {"scheduled_events": [_event("delegation", delegation_row(), "2026-03-01T00:00:00Z")]},
            "before started_at",
        ),
    ],
)
def test_an_inconsistent_seed_is_rejected_with_the_location(lists: dict[str, Any], place: str) -> None:
    with pytest.raises(ValidationError, match=place):
        a_seed(**lists)


async def test_the_demo_company_approves_a_vendor_through_the_cfos_delegate() -> None:
    async with ServiceHarness(SERVICE) as flow:
        fields = {
            "vendor_id": "V-204",
            "compliance_score": 88,
            "score_as_of": "2026-03-02T08:40:00Z",
            "annual_cost_cents": 1_250_000,
        }
        body = submission(type_key="vendor_onboarding", subject="V-204", fields=fields)
        refused = await flow.post("/approvals", json={**body, "approver_id": "E-102"})
        assert refused.json()["code"] == "approver-out-of-office"
        made = (await flow.post("/approvals", json={**body, "approver_id": "E-104"})).json()
        await flow.advance(minutes=24 * 60)
        assert (await flow.get(f"/approvals/{made['id']}")).json()["status"] == "approved"


async def test_a_colleague_submits_writes_and_delegates_while_time_passes(start: Start) -> None:
    scheduled_events = [
        _event("request", request_row(submitted_at=DUE)),
        _event("note", _note(at="2026-03-02T10:05:00Z"), "2026-03-02T10:05:00Z"),
        _event("delegation", delegation_row(), "2026-03-02T10:05:00Z"),
    ]
    flow = await start(a_seed(scheduled_events=scheduled_events))
    await flow.advance(minutes=59)
    assert (await flow.get("/approvals")).json()["total"] == 0
    await flow.advance(minutes=6)
    approval = (await flow.get("/approvals/APR-40")).json()
    assert (approval["status"], approval["notes_total"]) == ("pending", 1)
    assert (await flow.get("/delegations")).json()["total"] == 1
    await flow.advance(minutes=60)
    assert (await flow.get("/approvals/APR-40")).json()["status"] == "approved"


async def test_a_colleague_does_not_submit_on_a_subject_with_an_open_request(start: Start) -> None:
    late = request_row(id="APR-50", subject="V-1", submitted_at=DUE)
    flow = await start(
        a_seed(
            scheduled_events=[_event("request", late), _event("note", _note(request_id="APR-50"))],
            traits=[{"id": CFO, "min_minutes": 400, "max_minutes": 400}],
        )
    )
    made = (await flow.post("/approvals", json=submission())).json()
    assert made["id"] == "APR-51"
    await flow.advance(minutes=120)
    assert (await flow.get("/approvals/APR-50")).json()["code"] == "request-not-found"
    assert await flow.rows("notes") == {}


async def test_ids_of_decisions_and_notes_continue_after_the_seed(start: Start) -> None:
    decision = {"id": "APR-40-D3", "request_id": "APR-40", "kind": "escalated", "by": CLERK, "at": DUE}
    flow = await start(a_seed(requests=[request_row()], decisions=[decision], notes=[_note(id="APR-40-N4")]))
    await flow.post("/approvals/APR-40/notes", json={"body": "Fifth."})
    await flow.advance(minutes=24 * 60)
    assert "APR-40-N5" in await flow.rows("notes")
    assert "APR-40-D4" in await flow.rows("decisions")
