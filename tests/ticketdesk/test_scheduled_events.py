"""Scheduled events of colleagues."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_shared.framework.scheduled_events import NEVER
from companyos_shared.wire.context import Actor
from companyos_ticketdesk.seed import Seed
from tests.ticketdesk.builders import EVA, OPS, a_link_row, a_row, a_seed
from tests.ticketdesk.conftest import OpenDesk

AT_TEN = "2026-03-02T10:00:00Z"


def kind(kind: str, due_at: str = AT_TEN, **data: Any) -> dict[str, Any]:
    return {"due_at": due_at, "kind": kind, "data": data}


def a_colleagues_ticket(key: str = "OPS-20") -> dict[str, Any]:
    named = {"key": key, "type": "request", "title": "A chair", "description": "Mine is broken."}
    return kind("ticket", **named, reporter_id=EVA, team_id=OPS)


def a_colleagues_move(to_status: str, **data: Any) -> dict[str, Any]:
    return kind("transition", id="transition-50", ticket_key="OPS-1", by=EVA, to_status=to_status, **data)


async def test_a_colleagues_ticket_appears_at_its_time(open_desk: OpenDesk) -> None:
    desk = await open_desk(scheduled_events=[a_colleagues_ticket()])
    await desk.advance(minutes=59)
    assert (await desk.get("/tickets")).json()["total"] == 0
    report = await desk.advance(minutes=31)
    ticket = (await desk.get("/tickets/OPS-20")).json()
    assert (ticket["status"], ticket["created_at"], ticket["reporter_id"]) == (None, AT_TEN, EVA)
    assert [(change.actor, change.cause) for change in report.changes] == [(Actor.CLOCK, None)]


async def test_a_new_ticket_never_takes_the_key_of_a_scheduled_one(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row("OPS-3"), scheduled_events=[a_colleagues_ticket("OPS-4")])
    mine = await desk.post("/tickets", json={"title": "Mine", "type": "task", "team_id": OPS})
    await desk.advance(minutes=90)
    assert mine.json()["key"] == "OPS-5"
    assert set(await desk.rows("tickets")) == {"OPS-3", "OPS-4", "OPS-5"}


async def test_a_colleagues_comment_appears_at_its_time(open_desk: OpenDesk) -> None:
    data = {"id": "comment-5", "ticket_key": "OPS-1", "author_id": EVA, "body": "Done?"}
    desk = await open_desk(a_row(), scheduled_events=[kind("comment", **data)])
    await desk.advance(minutes=90)
    (comment,) = (await desk.get("/tickets/OPS-1/comments")).json()["items"]
    assert comment == {"id": "comment-5", "author_id": EVA, "created_at": AT_TEN, "body": "Done?"}


@pytest.mark.parametrize(("status", "written"), [("in_progress", ["Sorry."]), ("in_review", [])])
async def test_a_comment_about_a_transition_is_written_only_if_that_was_made(
    open_desk: OpenDesk, status: str, written: list[str]
) -> None:
    data = {"id": "comment-5", "ticket_key": "OPS-1", "author_id": EVA, "body": "Sorry."}
    comment = kind("comment", "2026-03-02T10:03:00Z", **data, after_transition="transition-50")
    desk = await open_desk(a_row(status=status), scheduled_events=[comment, a_colleagues_move("blocked")])
    await desk.advance(minutes=90)
    assert [one["body"] for one in (await desk.get("/tickets/OPS-1/comments")).json()["items"]] == written


async def test_a_colleague_changes_the_status_of_a_ticket(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(status="in_progress"), scheduled_events=[a_colleagues_move("resolved")])
    await desk.advance(minutes=60)
    ticket = (await desk.get("/tickets/OPS-1")).json()
    assert (ticket["status"], ticket["updated_at"], ticket["version"]) == ("resolved", AT_TEN, 2)
    (entry,) = (await desk.get("/tickets/OPS-1/history")).json()["items"]
    assert (entry["by"], entry["at"], entry["from_status"]) == (EVA, AT_TEN, "in_progress")


async def test_a_colleagues_disallowed_transition_has_no_effect(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(status="open"), scheduled_events=[a_colleagues_move("resolved")])
    report = await desk.advance(minutes=60)
    assert report.changes == []
    assert (await desk.get("/tickets/OPS-1")).json()["status"] == "open"


async def test_a_blocking_ticket_blocks_a_colleague_too(open_desk: OpenDesk) -> None:
    links = [a_link_row("link-1", "blocks", "OPS-2", "OPS-1")]
    desk = await open_desk(
        a_row(status="in_progress"), a_row("OPS-2"), links=links, scheduled_events=[a_colleagues_move("resolved")]
    )
    report = await desk.advance(minutes=60)
    assert report.changes == []


async def test_the_reason_of_a_colleague_is_stored(open_desk: OpenDesk) -> None:
    why = {"reason_code": "withdrawn", "reason_ref": EVA}
    desk = await open_desk(a_row(status="open"), scheduled_events=[a_colleagues_move("cancelled", **why)])
    await desk.advance(minutes=60)
    ticket = (await desk.get("/tickets/OPS-1")).json()
    assert (ticket["reason_code"], ticket["reason_ref"]) == ("withdrawn", EVA)


def a_colleagues_change(**data: Any) -> dict[str, Any]:
    return {"due_at": AT_TEN, "kind": "change", "data": {"ticket_key": "OPS-1", **data}}


async def test_a_colleague_changes_priority_and_due_time(open_desk: OpenDesk) -> None:
    change = a_colleagues_change(priority="critical", due_at="2026-03-03T12:00:00Z")
    desk = await open_desk(a_row(status="open", priority="low"), scheduled_events=[change])
    report = await desk.advance(minutes=60)
    ticket = (await desk.get("/tickets/OPS-1")).json()
    assert (ticket["priority"], ticket["due_at"]) == ("critical", "2026-03-03T12:00:00Z")
    assert [(one.actor, one.cause) for one in report.changes] == [(Actor.CLOCK, None)]


async def test_a_colleague_replaces_the_tags_of_an_untriaged_ticket(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(status=None), scheduled_events=[a_colleagues_change(tags=["badge", "desk"])])
    await desk.advance(minutes=60)
    ticket = (await desk.get("/tickets/OPS-1")).json()
    assert (ticket["status"], ticket["tags"]) == (None, ["badge", "desk"])
    assert [one["key"] for one in (await desk.get("/tickets?tag=desk")).json()["items"]] == ["OPS-1"]


@pytest.mark.parametrize("status", ["resolved", "closed", "cancelled"])
async def test_a_colleague_does_not_change_a_settled_ticket(open_desk: OpenDesk, status: str) -> None:
    desk = await open_desk(a_row(status=status), scheduled_events=[a_colleagues_change(priority="critical")])
    assert (await desk.advance(minutes=60)).changes == []


def test_a_comment_about_a_transition_that_is_not_scheduled_is_rejected() -> None:
    data = {"id": "comment-5", "ticket_key": "OPS-1", "author_id": EVA, "body": "Sorry."}
    with pytest.raises(ValueError, match=r"scheduled_events\.0\.after_transition: unknown id transition-9"):
        Seed.model_validate(
            a_seed(a_row(), scheduled_events=[kind("comment", **data, after_transition="transition-9")])
        )


def test_a_change_of_a_missing_ticket_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"scheduled_events\.0\.ticket_key"):
        Seed.model_validate(a_seed(scheduled_events=[a_colleagues_change(priority="low")]))


async def test_an_event_that_waits_for_a_ticket_occurs_soon_after_its_verification(open_desk: OpenDesk) -> None:
    late = a_row(status="open", priority="low", assignee_id=EVA)
    waiting = [kind("change", ticket_key="OPS-1", priority="high") | {"once_verified": "OPS-1"}]
    desk = await open_desk(late, scheduled_events=waiting)
    await desk.advance(minutes=600)
    assert (await desk.get("/tickets/OPS-1")).json()["priority"] == "low"
    assert (await desk.post("/tickets/OPS-1/verification")).status_code == 200
    await desk.advance(minutes=30)
    assert (await desk.get("/tickets/OPS-1")).json()["priority"] == "high"


async def test_an_event_that_waits_for_a_ticket_settled_without_verification_never_occurs(open_desk: OpenDesk) -> None:
    waiting = [kind("change", ticket_key="OPS-1", priority="high") | {"once_verified": "OPS-1"}]
    desk = await open_desk(a_row(status="open", priority="low"), scheduled_events=waiting)
    body = {"to": "cancelled", "reason_code": "withdrawn", "reason_ref": "OPS-1"}
    assert (await desk.post("/tickets/OPS-1/transitions", json=body)).status_code == 200
    report = await desk.advance(minutes=600)
    assert (report.changes, report.next_due_at) == ([], None)


async def test_a_change_that_waits_for_verification_is_pending_while_the_clock_runs(open_desk: OpenDesk) -> None:
    waiting = [kind("change", ticket_key="OPS-1", priority="high") | {"once_verified": "OPS-1"}]
    desk = await open_desk(a_row(status="open", priority="low", assignee_id=EVA), scheduled_events=waiting)
    assert (await desk.advance(minutes=600)).next_due_at == NEVER
    assert (await desk.post("/tickets/OPS-1/verification")).status_code == 200
    assert (await desk.advance(minutes=30)).next_due_at is None
