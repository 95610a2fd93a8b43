"""Error messages contain the current value and the accepted values."""

from __future__ import annotations

import pytest

from tests.ticketdesk.builders import a_link_row, a_row, an_item_row
from tests.ticketdesk.conftest import OpenDesk

TRANSITIONS = "/tickets/OPS-1/transitions"


@pytest.mark.parametrize(
    ("status", "to", "detail"),
    [
        ("open", "closed", "OPS-1 cannot change from open to closed; allowed: in_progress, blocked, cancelled"),
        (None, "resolved", "OPS-1 is untriaged and can only change to open"),
        ("closed", "open", "OPS-1 is closed, which is final"),
    ],
)
async def test_a_transition_names_the_status_and_the_allowed_ones(
    open_desk: OpenDesk, status: str | None, to: str, detail: str
) -> None:
    desk = await open_desk(a_row(status=status))
    assert (await desk.post(TRANSITIONS, json={"to": to})).json()["detail"] == detail


async def test_a_blocked_transition_names_the_blockers(open_desk: OpenDesk) -> None:
    link = a_link_row("link-1", "blocks", "OPS-2", "OPS-1")
    desk = await open_desk(a_row(status="in_progress"), a_row("OPS-2"), links=[link])
    answer = await desk.post(TRANSITIONS, json={"to": "resolved"})
    assert answer.json()["detail"] == "OPS-1 cannot change to resolved while OPS-2 blocks it"


async def test_verifying_a_ticket_with_an_unknown_assignee_reports_the_assignee(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(assignee_id="p-nobody"))
    answer = await desk.post("/tickets/OPS-1/verification")
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown-assignee")
    assert answer.json()["detail"] == 'OPS-1 is assigned to "p-nobody", but no person in the directory has this id'


async def test_other_errors_name_the_value_and_the_accepted_ones(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(), checklist_items=[an_item_row("item-1"), an_item_row("item-2")])
    removal = {"justification": "done"}
    new = {"title": "Lamp", "type": "task", "team_id": "t-none"}
    details = [
        (await desk.put("/tickets/OPS-1/assignee", json={"assignee_id": "p-nobody"})).json()["detail"],
        (await desk.post("/tickets/OPS-1/verification")).json()["detail"],
        (await desk.post("/tickets/OPS-1/links/link-9/removal", json=removal)).json()["detail"],
        (await desk.post("/tickets", json=new)).json()["detail"],
        (await desk.get("/tickets", params={"cursor": "zzz"})).json()["detail"],
    ]
    assert details == [
        'assignee_id must be the id of a person in the directory; got "p-nobody"',
        "OPS-1 has open checklist items: 2",
        'OPS-1 has no link "link-9"',
        'team_id must be one of finance, ops; got "t-none"',
        'cursor must be the next_cursor of the previous page; got "zzz"',
    ]
