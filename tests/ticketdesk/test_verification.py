"""Assigning, completing the checklist, verifying and linking an approval over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ticketdesk.builders import ACCOUNTANT, AGENT, AWAY, DEPARTED, EVA, STARTS_LATER, a_row, an_item_row
from tests.ticketdesk.conftest import OpenDesk


@pytest.mark.parametrize(
    ("person_id", "status", "code"),
    [
        ("p-nobody", 422, "unknown-assignee"),
        (DEPARTED, 409, "assignee-not-employed"),
        (STARTS_LATER, 409, "assignee-not-employed"),
        (ACCOUNTANT, 409, "assignee-outside-team"),
        (AWAY, 409, "assignee-out-of-office"),
    ],
)
async def test_an_ineligible_person_cannot_be_assigned(
    open_desk: OpenDesk, person_id: str, status: int, code: str
) -> None:
    desk = await open_desk(a_row(assignee_id=None))
    answer = await desk.put("/tickets/OPS-1/assignee", json={"assignee_id": person_id})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert (await desk.get("/tickets/OPS-1")).json()["assignee_id"] is None


async def test_an_active_member_of_the_team_can_be_assigned(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(assignee_id=DEPARTED))
    answer = await desk.put("/tickets/OPS-1/assignee", json={"assignee_id": AGENT})
    assert (answer.json()["assignee_id"], answer.json()["version"]) == (AGENT, 2)


async def test_a_person_on_vacation_can_be_assigned_a_ticket_due_afterwards(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(due_at="2026-03-11T09:00:00Z"))
    answer = await desk.put("/tickets/OPS-1/assignee", json={"assignee_id": AWAY})
    assert answer.status_code == 200


async def test_verification_records_who_and_when_and_happens_once(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row())
    verified = (await desk.post("/tickets/OPS-1/verification")).json()
    assert verified["verified"] is True
    assert (verified["verified_by"], verified["verified_at"]) == (AGENT, "2026-03-02T09:00:00Z")
    again = await desk.post("/tickets/OPS-1/verification")
    assert (again.status_code, again.json()["code"]) == (409, "ticket-verified")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"priority": None}, "priority-missing"),
        ({"assignee_id": None}, "assignee-missing"),
        ({"assignee_id": "p-nobody"}, "unknown-assignee"),
        ({"assignee_id": DEPARTED}, "assignee-not-employed"),
    ],
)
async def test_a_ticket_that_is_not_ready_cannot_be_verified(
    open_desk: OpenDesk, fields: dict[str, Any], code: str
) -> None:
    desk = await open_desk(a_row(**fields))
    answer = await desk.post("/tickets/OPS-1/verification")
    assert answer.json()["code"] == code
    assert (await desk.get("/tickets/OPS-1")).json()["verified"] is False


async def test_an_assignee_on_vacation_does_not_prevent_verification(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(assignee_id=AWAY))
    assert (await desk.post("/tickets/OPS-1/verification")).json()["verified"] is True


async def test_the_checklist_must_be_completed_before_verification(open_desk: OpenDesk) -> None:
    items = [an_item_row("item-1", done=True), an_item_row("item-2"), an_item_row("item-3", "OPS-2")]
    desk = await open_desk(a_row(), a_row("OPS-2"), checklist_items=items)
    answer = await desk.post("/tickets/OPS-1/verification")
    assert (answer.status_code, answer.json()["code"]) == (409, "checklist-incomplete")
    done = (await desk.post("/tickets/OPS-1/checklist/item-2/completion")).json()
    assert (done["done_by"], done["done_at"]) == (AGENT, "2026-03-02T09:00:00Z")
    assert (await desk.post("/tickets/OPS-1/verification")).status_code == 200


async def test_an_item_is_completed_once_and_records_the_person(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(), checklist_items=[an_item_row("item-1", done=True)])
    answer = await desk.post("/tickets/OPS-1/checklist/item-1/completion")
    assert (answer.status_code, answer.json()["code"]) == (409, "checklist-item-done")
    assert desk.last_report.changes == []
    assert (await desk.get("/tickets/OPS-1")).json()["checklist"][0]["done_by"] == EVA


async def test_an_item_of_another_ticket_is_not_found(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(), a_row("OPS-2"), checklist_items=[an_item_row("item-1", "OPS-2")])
    answer = await desk.post("/tickets/OPS-1/checklist/item-1/completion")
    assert (answer.status_code, answer.json()["code"]) == (404, "checklist-item-not-found")


async def test_completing_an_item_changes_the_tickets_version_and_time(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(version=4), checklist_items=[an_item_row("item-1"), an_item_row("item-2")])
    done = await desk.post("/tickets/OPS-1/checklist/item-1/completion", headers={"If-Match": "4"})
    ticket = (await desk.get("/tickets/OPS-1")).json()
    assert (ticket["version"], ticket["updated_at"]) == (5, "2026-03-02T09:00:00Z")
    assert done.json()["ticket_version"] == 5
    stale = await desk.post("/tickets/OPS-1/checklist/item-2/completion", headers={"If-Match": "4"})
    assert (stale.status_code, stale.json()["code"]) == (412, "stale-version")


async def test_an_approval_is_linked_after_verification_and_may_be_replaced(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row())
    early = await desk.put("/tickets/OPS-1/approval", json={"approval_ref": "APR-1"})
    assert (early.status_code, early.json()["code"]) == (409, "ticket-unverified")
    await desk.post("/tickets/OPS-1/verification")
    first = await desk.put("/tickets/OPS-1/approval", json={"approval_ref": " APR-1 "})
    assert first.json()["approval_ref"] == "APR-1"
    second = await desk.put("/tickets/OPS-1/approval", json={"approval_ref": "APR-2"})
    assert second.json()["approval_ref"] == "APR-2"


async def test_a_blank_approval_is_rejected(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(verified_at="2026-03-01T09:00:00Z", verified_by=EVA))
    answer = await desk.put("/tickets/OPS-1/approval", json={"approval_ref": " "})
    assert (answer.status_code, answer.json()["code"]) == (422, "approval-ref-blank")
