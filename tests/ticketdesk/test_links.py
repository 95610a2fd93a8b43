"""Linking tickets and removing links over HTTP."""

from __future__ import annotations

from tests.ticketdesk.builders import AGENT, a_link_row, a_row
from tests.ticketdesk.conftest import OpenDesk

WHY = "The part was delivered."
BLOCKED = {"links": [a_link_row("link-1", "blocks", "OPS-2", "OPS-1")]}


async def test_a_link_is_shown_at_both_ends(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(), a_row("OPS-2", status="in_review"))
    answer = await desk.post("/tickets/OPS-1/links", json={"kind": "blocks", "to_key": "OPS-2"})
    link = answer.json()
    assert (answer.status_code, link["created_by"], link["from_key"], link["to_key"]) == (201, AGENT, "OPS-1", "OPS-2")
    near = (await desk.get("/tickets/OPS-1")).json()["links"]
    far = (await desk.get("/tickets/OPS-2")).json()["links"]
    assert near == [{"id": link["id"], "relation": "blocks", "key": "OPS-2", "status": "in_review"}]
    assert far == [{"id": link["id"], "relation": "is_blocked_by", "key": "OPS-1", "status": "open"}]


async def test_links_of_the_same_instant_are_shown_in_the_order_of_their_creation(open_desk: OpenDesk) -> None:
    keys = [f"OPS-{number}" for number in range(2, 14)]
    desk = await open_desk(a_row(), *map(a_row, keys))
    for key in keys:
        await desk.post("/tickets/OPS-1/links", json={"kind": "blocks", "to_key": key})
    assert [link["key"] for link in (await desk.get("/tickets/OPS-1")).json()["links"]] == keys


async def test_a_link_does_not_change_the_ticket_rows(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(), a_row("OPS-2"))
    await desk.post("/tickets/OPS-1/links", json={"kind": "duplicates", "to_key": "OPS-2"})
    assert [change.table for change in desk.last_report.changes] == ["links"]


async def test_an_invalid_link_is_rejected(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(), a_row("OPS-2"), a_row("OPS-3", status=None), **BLOCKED)
    codes = {
        "OPS-1": "link-to-itself",
        "OPS-2": "circular-link",
        "OPS-3": "ticket-untriaged",
        "OPS-4": "ticket-not-found",
    }
    for to_key, code in codes.items():
        answer = await desk.post("/tickets/OPS-1/links", json={"kind": "blocks", "to_key": to_key})
        assert answer.json()["code"] == code
    again = await desk.post("/tickets/OPS-2/links", json={"kind": "blocks", "to_key": "OPS-1"})
    assert (again.status_code, again.json()["code"]) == (409, "link-exists")


async def test_a_settled_ticket_can_be_linked_to(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(), a_row("OPS-2", status="closed"))
    answer = await desk.post("/tickets/OPS-1/links", json={"kind": "duplicates", "to_key": "OPS-2"})
    assert answer.status_code == 201


async def test_removing_the_blocking_link_unblocks_the_ticket(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(status="blocked"), a_row("OPS-2"), **BLOCKED)
    answer = await desk.post("/tickets/OPS-1/links/link-1/removal", json={"justification": WHY})
    assert (answer.status_code, answer.json()["justification"]) == (200, WHY)
    assert await desk.rows("links") == {}
    moved = await desk.post("/tickets/OPS-1/transitions", json={"to": "in_progress"})
    assert moved.status_code == 200


async def test_a_removed_link_stays_in_the_history_of_both_tickets(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(), a_row("OPS-2"), **BLOCKED)
    await desk.post("/tickets/OPS-2/links/link-1/removal", json={"justification": f" {WHY} "})
    for key in ("OPS-1", "OPS-2"):
        (entry,) = (await desk.get(f"/tickets/{key}/history")).json()["items"]
        assert (entry["event"], entry["by"], entry["at"]) == ("link_removed", AGENT, "2026-03-02T09:00:00Z")
        assert (entry["link"], entry["justification"]) == ("OPS-2 blocks OPS-1", WHY)


async def test_removing_a_link_requires_a_justification(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(), a_row("OPS-2"), **BLOCKED)
    answer = await desk.post("/tickets/OPS-1/links/link-1/removal", json={"justification": "because   "})
    assert (answer.status_code, answer.json()["code"]) == (422, "justification-too-short")
    assert set(await desk.rows("links")) == {"link-1"}


async def test_a_link_can_only_be_removed_at_its_own_ends(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(), a_row("OPS-2"), a_row("OPS-3"), **BLOCKED)
    for link_id in ("link-1", "link-9"):
        answer = await desk.post(f"/tickets/OPS-3/links/{link_id}/removal", json={"justification": WHY})
        assert (answer.status_code, answer.json()["code"]) == (404, "link-not-found")


async def test_the_id_of_a_removed_link_is_not_reused(open_desk: OpenDesk) -> None:
    links = [a_link_row("link-7", "relates_to", "OPS-2", "OPS-1")]
    desk = await open_desk(a_row(), a_row("OPS-2"), links=links)
    await desk.post("/tickets/OPS-1/links/link-7/removal", json={"justification": WHY})
    made = await desk.post("/tickets/OPS-1/links", json={"kind": "relates_to", "to_key": "OPS-2"})
    assert made.json()["id"] == "link-8"
