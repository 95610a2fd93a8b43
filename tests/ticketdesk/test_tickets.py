"""Creating and changing tickets over HTTP."""

from __future__ import annotations

import pytest

from tests.ticketdesk.builders import ACCOUNTANT, AGENT, OPS, a_row
from tests.ticketdesk.conftest import OpenDesk

NEW = {"title": "Order paper", "type": "task", "team_id": OPS}


async def test_a_new_ticket_is_untriaged_and_takes_the_next_key_of_its_team(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row("OPS-7"), a_row("OPS-12"), a_row("FIN-90", team_id="finance"))
    answer = await desk.post("/tickets", json=NEW)
    created = answer.json()
    assert answer.status_code == 201
    assert (created["key"], created["status"], created["reporter_id"]) == ("OPS-13", None, AGENT)
    assert (created["created_at"], created["version"]) == ("2026-03-02T09:00:00Z", 1)


async def test_the_first_ticket_of_a_team_has_the_number_one(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row("OPS-7"))
    answer = await desk.post("/tickets", json={**NEW, "team_id": "finance"})
    assert answer.json()["key"] == "FIN-1"


async def test_every_field_of_a_new_ticket_is_stored(open_desk: OpenDesk) -> None:
    desk = await open_desk()
    body = {**NEW, "description": "A4", "priority": "low", "due_at": "2026-03-05T12:00:00+02:00", "tags": ["paper"]}
    key = (await desk.post("/tickets", json=body)).json()["key"]
    kept = (await desk.get(f"/tickets/{key}")).json()
    assert kept.items() >= {**body, "due_at": "2026-03-05T10:00:00Z"}.items()


async def test_a_team_without_tickets_is_unknown(open_desk: OpenDesk) -> None:
    desk = await open_desk()
    answer = await desk.post("/tickets", json={**NEW, "team_id": "gardeners"})
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown-team")


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": ""},
        {"title": "x" * 201},
        {"type": "wish"},
        {"priority": "urgent"},
        {"due_at": "soon"},
        {"due_at": 86400},
        {"due_at": "0001-01-01T00:00:00+14:00"},
        {"due_at": "9999-12-31T23:59:59-12:00"},
        {"tags": ["x"] * 11},
        {"status": "open"},
    ],
)
async def test_an_invalid_request_creates_nothing(open_desk: OpenDesk, wrong: dict[str, object]) -> None:
    desk = await open_desk()
    answer = await desk.post("/tickets", json={**NEW, **wrong})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-arguments")
    assert await desk.rows("tickets") == {}


async def test_a_title_of_white_space_is_rejected(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row())
    created = await desk.post("/tickets", json={**NEW, "title": "  "})
    updated = await desk.patch("/tickets/OPS-1", json={"title": "  "})
    assert [answer.json()["code"] for answer in (created, updated)] == ["title-blank", "title-blank"]


async def test_an_update_changes_the_named_fields_and_raises_the_version(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(tags=["old"]))
    await desk.advance(minutes=5)
    answer = await desk.patch("/tickets/OPS-1", json={"priority": "critical", "tags": ["new"], "type": "bug"})
    changed = answer.json()
    assert (changed["priority"], changed["tags"], changed["type"]) == ("critical", ["new"], "bug")
    assert (changed["title"], changed["version"]) == ("Work on OPS-1", 2)
    assert changed["updated_at"] == "2026-03-02T09:05:00Z"


async def test_an_update_to_the_current_values_changes_nothing(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(tags=["a"]))
    answer = await desk.patch("/tickets/OPS-1", json={"priority": "medium", "tags": ["a"]})
    assert (answer.status_code, answer.json()["version"]) == (200, 1)
    assert desk.last_report.changes == []


@pytest.mark.parametrize("nothing", [{}, {"priority": None}])
async def test_an_empty_update_is_rejected(open_desk: OpenDesk, nothing: dict[str, None]) -> None:
    desk = await open_desk(a_row())
    answer = await desk.patch("/tickets/OPS-1", json=nothing)
    assert (answer.status_code, answer.json()["code"]) == (422, "nothing-to-change")


WRITES = [
    ("PATCH", "/tickets/{key}", {"priority": "low"}),
    ("PUT", "/tickets/{key}/assignee", {"assignee_id": AGENT}),
    ("POST", "/tickets/{key}/verification", None),
    ("PUT", "/tickets/{key}/approval", {"approval_ref": "APR-1"}),
    ("POST", "/tickets/{key}/checklist/item-1/completion", None),
    ("POST", "/tickets/{key}/links", {"kind": "blocks", "to_key": "OPS-9"}),
    ("POST", "/tickets/{key}/links/link-1/removal", {"justification": "no longer needed"}),
]


@pytest.mark.sample(6)
@pytest.mark.parametrize(("method", "path", "body"), WRITES)
@pytest.mark.parametrize(
    ("status", "code"), [(None, "ticket-untriaged"), ("closed", "ticket-closed"), ("cancelled", "ticket-closed")]
)
async def test_only_a_live_ticket_can_be_written(
    open_desk: OpenDesk, method: str, path: str, body: object, status: str | None, code: str
) -> None:
    desk = await open_desk(a_row(status=status), a_row("OPS-9"))
    answer = await desk.request(method, path.format(key="OPS-1"), json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, code)
    assert desk.last_report.changes == []


EVERY_WRITE = [
    *WRITES,
    ("POST", "/tickets/{key}/transitions", {"to": "in_progress"}),
    ("POST", "/tickets/{key}/comments", {"body": "Hello"}),
]


@pytest.mark.parametrize(("method", "path", "body"), EVERY_WRITE)
async def test_every_write_to_a_ticket_accepts_if_match(
    open_desk: OpenDesk, method: str, path: str, body: object
) -> None:
    desk = await open_desk(a_row(version=2), a_row("OPS-9"))
    answer = await desk.request(method, path.format(key="OPS-1"), json=body, headers={"If-Match": "1"})
    assert (answer.status_code, answer.json()["code"]) == (412, "stale-version")
    assert desk.last_report.changes == []


@pytest.mark.parametrize(("method", "path", "body"), EVERY_WRITE)
async def test_an_unknown_key_is_not_found(open_desk: OpenDesk, method: str, path: str, body: object) -> None:
    desk = await open_desk(a_row(reporter_id=ACCOUNTANT))
    answer = await desk.request(method, path.format(key="OPS-404"), json=body)
    assert (answer.status_code, answer.json()["code"]) == (404, "ticket-not-found")
