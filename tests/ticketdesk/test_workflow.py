"""Status transitions of tickets and their history over HTTP."""

from __future__ import annotations

from typing import Any

from companyos_shared.framework.testing import ServiceHarness
from tests.ticketdesk.builders import AGENT, a_link_row, a_row
from tests.ticketdesk.conftest import OpenDesk

BLOCKED_BY_TWO = {"links": [a_link_row("link-1", "blocks", "OPS-2", "OPS-1")]}


async def move(desk: ServiceHarness, to: str, key: str = "OPS-1", **reason: str) -> tuple[int, Any]:
    answer = await desk.post(f"/tickets/{key}/transitions", json={"to": to, **reason})
    return answer.status_code, answer.json()


async def code_of_move(desk: ServiceHarness, to: str, **reason: str) -> str:
    status, body = await move(desk, to, **reason)
    assert status >= 400
    return str(body["code"])


async def test_triage_opens_a_ticket_and_is_recorded(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(status=None, priority=None))
    status, ticket = await move(desk, "open")
    assert (status, ticket["status"], ticket["version"]) == (200, "open", 2)
    history = (await desk.get("/tickets/OPS-1/history")).json()
    assert history["items"] == [
        {
            "event": "transition",
            "at": "2026-03-02T09:00:00Z",
            "by": AGENT,
            "from_status": None,
            "to_status": "open",
            "reason_code": None,
            "reason_ref": None,
            "link": None,
            "justification": None,
        }
    ]


async def test_an_untriaged_ticket_allows_no_other_transition(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(status=None))
    assert await code_of_move(desk, "in_progress") == "ticket-untriaged"
    assert await code_of_move(desk, "cancelled", reason_code="duplicate", reason_ref="OPS-2") == "ticket-untriaged"


async def test_a_transition_that_is_not_in_the_table_is_rejected(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(status="open"))
    assert await code_of_move(desk, "resolved") == "transition-not-allowed"
    assert await code_of_move(desk, "open") == "transition-not-allowed"


async def test_closing_stores_the_reason_and_is_final(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(status="resolved"))
    assert await code_of_move(desk, "closed") == "reason-missing"
    assert await code_of_move(desk, "closed", reason_code="completed") == "reason-missing"
    status, ticket = await move(desk, "closed", reason_code="completed", reason_ref="APR-1")
    assert (status, ticket["reason_code"], ticket["reason_ref"]) == (200, "completed", "APR-1")
    assert await code_of_move(desk, "in_progress") == "ticket-closed"


async def test_a_reason_for_a_transition_that_takes_none_is_rejected(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(status="open"))
    assert await code_of_move(desk, "in_progress", reason_code="completed", reason_ref="x") == "reason-not-accepted"


async def test_the_reason_of_a_block_is_cleared_with_the_block(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(status="in_progress"))
    _, blocked = await move(desk, "blocked", reason_code="data_unavailable", reason_ref="metric-4")
    assert blocked["reason_code"] == "data_unavailable"
    _, back = await move(desk, "in_progress")
    assert (back["reason_code"], back["reason_ref"]) == (None, None)


async def test_blocking_tickets_must_be_settled_first(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(status="blocked"), a_row("OPS-2", status="in_progress"), **BLOCKED_BY_TWO)
    assert await code_of_move(desk, "in_progress") == "ticket-blocked"
    assert (await desk.get("/tickets/OPS-1")).json()["allowed_transitions"] == ["cancelled"]
    assert (await move(desk, "resolved", "OPS-2"))[0] == 200
    assert (await move(desk, "in_progress"))[0] == 200


async def test_a_ticket_in_progress_cannot_be_resolved_while_another_blocks_it(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(status="in_progress"), a_row("OPS-2", status=None), **BLOCKED_BY_TWO)
    assert await code_of_move(desk, "resolved") == "ticket-blocked"
    assert (await move(desk, "in_review"))[0] == 200


async def test_a_reopened_blocker_blocks_again(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(status="in_progress"), a_row("OPS-2", status="resolved"), **BLOCKED_BY_TWO)
    assert (await move(desk, "in_progress", "OPS-2"))[0] == 200
    assert await code_of_move(desk, "resolved") == "ticket-blocked"


async def test_a_cancelled_blocker_no_longer_blocks(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(status="in_progress"), a_row("OPS-2", status="cancelled"), **BLOCKED_BY_TWO)
    assert (await move(desk, "resolved"))[0] == 200


async def test_other_links_block_nothing(open_desk: OpenDesk) -> None:
    links = [
        a_link_row("link-1", "blocks", "OPS-1", "OPS-2"),
        a_link_row("link-2", "relates_to", "OPS-2", "OPS-1"),
        a_link_row("link-3", "duplicates", "OPS-2", "OPS-1"),
    ]
    desk = await open_desk(a_row(status="in_progress"), a_row("OPS-2"), links=links)
    assert (await move(desk, "resolved"))[0] == 200


async def test_a_rejected_transition_writes_nothing(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(status="open"))
    await move(desk, "closed")
    assert desk.last_report.changes == []
    assert (await desk.get("/tickets/OPS-1")).json()["version"] == 1


async def test_the_history_continues_after_the_seed_and_is_paginated(open_desk: OpenDesk) -> None:
    past = {"ticket_key": "OPS-1", "at": "2026-02-20T10:00:00Z", "by": AGENT, "to_status": "open"}
    desk = await open_desk(a_row(), transitions=[{"id": "transition-41", **past}])
    await move(desk, "in_progress")
    first = (await desk.get("/tickets/OPS-1/history?limit=1")).json()
    rest = (await desk.get("/tickets/OPS-1/history", params={"cursor": first["next_cursor"]})).json()
    assert [entry["to_status"] for page in (first, rest) for entry in page["items"]] == ["open", "in_progress"]
    assert (first["total"], rest["next_cursor"]) == (2, None)
    assert "transition-42" in await desk.rows("transitions")
