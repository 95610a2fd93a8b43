"""Writing and reading comments over HTTP."""

from __future__ import annotations

import pytest

from tests.ticketdesk.builders import AGENT, EVA, a_row
from tests.ticketdesk.conftest import OpenDesk


@pytest.mark.parametrize("status", [None, "open", "closed", "cancelled"])
async def test_a_ticket_in_any_state_accepts_a_comment(open_desk: OpenDesk, status: str | None) -> None:
    desk = await open_desk(a_row(status=status))
    answer = await desk.post("/tickets/OPS-1/comments", json={"body": "Looking into it."})
    assert (answer.status_code, answer.json()["author_id"]) == (201, AGENT)
    assert [change.table for change in desk.last_report.changes] == ["comments"]


async def test_comments_are_listed_oldest_first_in_pages(open_desk: OpenDesk) -> None:
    past = {"id": "comment-9", "ticket_key": "OPS-1", "author_id": EVA, "created_at": "2026-02-20T10:00:00Z"}
    desk = await open_desk(a_row(), a_row("OPS-2"), comments=[{**past, "body": "0"}])
    for number in range(1, 12):
        await desk.advance(minutes=1)
        await desk.post("/tickets/OPS-1/comments", json={"body": str(number)})
    await desk.post("/tickets/OPS-2/comments", json={"body": "elsewhere"})
    first = (await desk.get("/tickets/OPS-1/comments")).json()
    rest = (await desk.get("/tickets/OPS-1/comments", params={"cursor": first["next_cursor"]})).json()
    assert [comment["body"] for comment in first["items"] + rest["items"]] == [str(n) for n in range(12)]
    assert (len(first["items"]), first["total"], rest["next_cursor"]) == (10, 12, None)


async def test_comments_of_the_same_instant_are_listed_in_the_order_of_their_creation(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row())
    written = [str(number) for number in range(1, 13)]
    for body in written:
        await desk.post("/tickets/OPS-1/comments", json={"body": body})
    page = (await desk.get("/tickets/OPS-1/comments", params={"limit": 9})).json()
    rest = (await desk.get("/tickets/OPS-1/comments", params={"limit": 9, "cursor": page["next_cursor"]})).json()
    assert [comment["body"] for comment in page["items"] + rest["items"]] == written


async def test_ids_of_comments_continue_after_the_seed(open_desk: OpenDesk) -> None:
    past = {"id": "comment-9", "ticket_key": "OPS-1", "author_id": EVA, "created_at": "2026-02-20T10:00:00Z"}
    desk = await open_desk(a_row(), comments=[{**past, "body": "Hello"}])
    assert (await desk.post("/tickets/OPS-1/comments", json={"body": "Hello"})).json()["id"] == "comment-10"


async def test_a_blank_comment_is_rejected(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row())
    answer = await desk.post("/tickets/OPS-1/comments", json={"body": " \n "})
    assert (answer.status_code, answer.json()["code"]) == (422, "comment-blank")


async def test_comments_of_an_unknown_ticket_are_not_found(open_desk: OpenDesk) -> None:
    desk = await open_desk()
    answer = await desk.get("/tickets/OPS-404/comments")
    assert (answer.status_code, answer.json()["code"]) == (404, "ticket-not-found")
