"""Listing, searching and showing tickets over HTTP."""

from __future__ import annotations

import pytest

from companyos_shared.framework.testing import ServiceHarness
from tests.ticketdesk.builders import ACCOUNTANT, EVA, a_row
from tests.ticketdesk.conftest import OpenDesk


async def keys(desk: ServiceHarness, url: str, **params: str) -> list[str]:
    answer = await desk.get(url, params=params)
    assert answer.status_code == 200
    return [row["key"] for row in answer.json()["items"]]


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, ["OPS-3", "OPS-2", "OPS-1", "FIN-1"]),
        ({"status": "none"}, ["OPS-2"]),
        ({"status": "open"}, ["OPS-1", "FIN-1"]),
        ({"priority": "none"}, ["OPS-2"]),
        ({"priority": "high"}, ["OPS-3"]),
        ({"assignee_id": "none"}, ["OPS-3"]),
        ({"assignee_id": ACCOUNTANT}, ["FIN-1"]),
        ({"team_id": "finance"}, ["FIN-1"]),
        ({"type": "bug"}, ["OPS-3"]),
        ({"tag": "gate"}, ["OPS-2"]),
        ({"tag": "doo"}, []),
        ({"status": "open", "team_id": "ops"}, ["OPS-1"]),
    ],
)
async def test_a_list_matches_every_filter_newest_first(
    open_desk: OpenDesk, filters: dict[str, str], found: list[str]
) -> None:
    desk = await open_desk(
        a_row("FIN-1", team_id="finance", assignee_id=ACCOUNTANT),
        a_row("OPS-1"),
        a_row("OPS-2", status=None, priority=None, tags=["gate", "badge"], created_at="2026-02-21T10:00:00Z"),
        a_row(
            "OPS-3",
            status="blocked",
            type="bug",
            priority="high",
            assignee_id=None,
            created_at="2026-02-22T10:00:00Z",
        ),
    )
    assert await keys(desk, "/tickets", **filters) == found


async def test_pages_have_ten_items_and_miss_none(open_desk: OpenDesk) -> None:
    desk = await open_desk(*(a_row(f"OPS-{number}") for number in range(1, 24)))
    seen: list[str] = []
    cursor: str | None = None
    sizes = []
    while True:
        page = (await desk.get("/tickets", params={"cursor": cursor} if cursor else {})).json()
        sizes.append(len(page["items"]))
        seen += [row["key"] for row in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert sizes == [10, 10, 3]
    assert sorted(seen) == sorted(f"OPS-{number}" for number in range(1, 24))


async def test_a_search_finds_the_best_match_first(open_desk: OpenDesk) -> None:
    desk = await open_desk(
        a_row("OPS-1", title="Gate", description="The badge reader is broken"),
        a_row("OPS-2", title="Badge reader at the gate"),
        a_row("OPS-3", title="Printer", tags=["badge"]),
        a_row("OPS-4", title="Printer"),
    )
    assert await keys(desk, "/tickets/search", query="BADGE reader") == ["OPS-2", "OPS-1", "OPS-3"]
    assert await keys(desk, "/tickets/search", query="ops-4") == ["OPS-4"]
    assert await keys(desk, "/tickets/search", query="adge ader") == []
    assert await keys(desk, "/tickets/search", query="broken badge") == ["OPS-1", "OPS-2", "OPS-3"]
    assert await keys(desk, "/tickets/search", query="100% _") == []


async def test_a_search_is_paginated(open_desk: OpenDesk) -> None:
    desk = await open_desk(*(a_row(f"OPS-{number}") for number in range(10, 24)))
    first = (await desk.get("/tickets/search", params={"query": "work"})).json()
    rest = (await desk.get("/tickets/search", params={"query": "work", "cursor": first["next_cursor"]})).json()
    found = [row["key"] for row in first["items"] + rest["items"]]
    assert found == [f"OPS-{number}" for number in range(10, 24)]
    assert (first["total"], rest["next_cursor"]) == (14, None)


async def test_a_search_without_words_is_rejected(open_desk: OpenDesk) -> None:
    desk = await open_desk()
    answer = await desk.get("/tickets/search", params={"query": " ! "})
    assert (answer.status_code, answer.json()["code"]) == (422, "query-blank")


async def test_a_ticket_shows_its_fields_its_checklist_and_its_allowed_transitions(open_desk: OpenDesk) -> None:
    items = [
        {"id": "item-2", "ticket_key": "OPS-1", "position": 2, "text": "Second"},
        {"id": "item-1", "ticket_key": "OPS-1", "position": 1, "text": "First", "done_at": "2026-02-21T10:00:00Z"},
    ]
    desk = await open_desk(a_row(due_at="2026-03-02T08:00:00Z"), checklist_items=items)
    ticket = (await desk.get("/tickets/OPS-1")).json()
    assert [item["text"] for item in ticket["checklist"]] == ["First", "Second"]
    assert (ticket["is_overdue"], ticket["verified"], ticket["links"]) == (True, False, [])
    assert ticket["allowed_transitions"] == ["in_progress", "blocked", "cancelled"]
    assert (ticket["assignee_id"], ticket["reporter_id"]) == (EVA, ACCOUNTANT)


async def test_an_unknown_ticket_is_not_found(open_desk: OpenDesk) -> None:
    desk = await open_desk()
    answer = await desk.get("/tickets/OPS-404")
    assert (answer.status_code, answer.json()["code"]) == (404, "ticket-not-found")
    assert answer.headers["content-type"] == "application/problem+json"
