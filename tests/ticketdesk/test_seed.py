"""The seed document: rejected content, and the plausibility of the demo company."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
from pydantic import ValidationError

from companyos_ticketdesk.main import SERVICE
from companyos_ticketdesk.seed import Seed
from companyos_ticketdesk.tickets.model import MOVES
from tests.ticketdesk.builders import EVA, a_link_row, a_row, a_seed, an_item_row

NOW = "2026-03-02T09:00:00Z"
COMMENT = {"id": "comment-1", "ticket_key": "OPS-1", "author_id": EVA, "created_at": NOW, "body": "x"}
MOVE = {"id": "transition-1", "ticket_key": "OPS-1", "at": NOW, "by": EVA, "to_status": "open"}


@pytest.mark.parametrize(
    ("lists", "place"),
    [
        ({"tickets": [a_row(reporter_id="p-nobody")]}, "tickets.0.reporter_id"),
        ({"tickets": [a_row(verified_by="p-nobody", verified_at=NOW)]}, "tickets.0.verified_by"),
        ({"tickets": [a_row(team_id="gardeners")]}, "tickets.0.team_id"),
        ({"team_prefixes": {"gardeners": "GDN"}}, "team_prefixes.gardeners"),
        ({"checklist_items": [an_item_row("item-1", "OPS-404")]}, "checklist_items.0.ticket_key"),
        ({"comments": [{**COMMENT, "ticket_key": "OPS-404"}]}, "comments.0.ticket_key"),
        ({"comments": [{**COMMENT, "author_id": "p-nobody"}]}, "comments.0.author_id"),
        ({"links": [a_link_row("link-1", "blocks", "OPS-1", "OPS-404")]}, "links.0.to_key"),
        ({"transitions": [{**MOVE, "by": "p-nobody"}]}, "transitions.0.by"),
        ({"tickets": [a_row(), a_row()]}, "tickets: ids must be unique"),
        ({"links": [a_link_row("link-1", kind, "OPS-1", "OPS-1") for kind in ("blocks", "relates_to")]}, "links"),
    ],
)
def test_an_inconsistent_seed_names_the_location(lists: dict[str, Any], place: str) -> None:
    with pytest.raises(ValidationError, match=place):
        a_seed(a_row(), **lists)


def test_the_assignee_of_an_old_ticket_may_be_unknown() -> None:
    assert a_seed(a_row(assignee_id="p-nobody")).tickets[0].assignee_id == "p-nobody"


def test_an_event_may_refer_to_a_scheduled_ticket() -> None:
    ticket = {"key": "OPS-2", "type": "task", "title": "x", "description": "x", "reporter_id": EVA, "team_id": "ops"}
    comment = {"id": "comment-1", "ticket_key": "OPS-2", "author_id": EVA, "body": "x"}
    scheduled_events = [
        {"due_at": NOW, "kind": "ticket", "data": ticket},
        {"due_at": NOW, "kind": "comment", "data": comment},
    ]
    assert len(a_seed(scheduled_events=scheduled_events).scheduled_events) == 2
    with pytest.raises(ValidationError, match=r"scheduled_events\.0\.ticket_key"):
        a_seed(scheduled_events=scheduled_events[1:])


def test_a_seed_round_trips_through_json() -> None:
    seed = SERVICE.demo_seed()
    assert Seed.model_validate(seed.model_dump(mode="json")) == seed


def test_the_demo_is_a_small_company_with_a_backlog() -> None:
    seed = SERVICE.demo_seed()
    assert len(seed.company.people) >= 10
    assert len(seed.tickets) >= 25
    assert len({ticket.status for ticket in seed.tickets}) == 8
    assert {kind.kind for kind in seed.scheduled_events} == {"ticket", "comment", "transition"}


def test_every_ticket_of_the_demo_reached_its_status_by_allowed_transitions() -> None:
    seed = SERVICE.demo_seed()
    moves = sorted(seed.transitions, key=lambda move: (move.ticket_key, move.at))
    by_ticket = {key: list(found) for key, found in groupby(moves, key=lambda move: move.ticket_key)}
    for ticket in seed.tickets:
        status = None
        for move in by_ticket.get(ticket.key, []):
            assert move.from_status == status
            assert move.to_status in MOVES[status]
            status = move.to_status
        assert status == ticket.status


def test_all_events_of_the_demo_are_in_order() -> None:
    seed = SERVICE.demo_seed()
    created_at = {ticket.key: ticket.created_at for ticket in seed.tickets}
    assert all(created_at[move.ticket_key] <= move.at <= seed.started_at for move in seed.transitions)
    assert all(created_at[comment.ticket_key] <= comment.created_at <= seed.started_at for comment in seed.comments)
    assert all(kind.due_at > seed.started_at for kind in seed.scheduled_events)
