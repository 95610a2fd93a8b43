"""Events of colleagues during an episode."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from companyos.policies import Call, EpisodeOverError, TaskView
from companyos_gateway.chaos import Group, Kind
from companyos_gateway.evaluation import row_views
from companyos_gateway.scenarios import Instance, catalogue
from companyos_players import ticket_key_in
from companyos_shared.wire.context import Actor
from tests.scenarios.engine import EpisodeSpec, PlayAll

PLAYED = "license_renewal"
EVENTS = {kind.value: 1.0 for kind in Kind if kind.group is Group.EVENTS}


def _scheduled_events(instance: Instance, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = instance.documents[row_views.TICKETDESK]["scheduled_events"]
    return [one for one in found if one["kind"] == kind]


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", sorted(catalogue()))
def test_colleagues_act_in_office_hours_after_the_start(name: str) -> None:
    instance = catalogue()[name].plan(4, 0, EVENTS)
    moments = [
        datetime.fromisoformat(one["due_at"]) for one in instance.documents[row_views.TICKETDESK]["scheduled_events"]
    ]
    assert len(moments) >= 4
    assert all(at > instance.started_at and 9 <= at.hour <= 17 for at in moments)


def test_ids_of_scheduled_rows_continue_the_numbering() -> None:
    instance = catalogue()[PLAYED].plan(4, 0, EVENTS)
    desk = instance.documents[row_views.TICKETDESK]
    comments = [row["id"] for row in desk["comments"]] + [
        one["data"]["id"] for one in _scheduled_events(instance, "comment")
    ]
    assert comments == [f"comment-{n}" for n in range(1, len(comments) + 1)]
    keys = {row["key"] for row in desk["tickets"]}
    new = [one["data"]["key"] for one in _scheduled_events(instance, "ticket")]
    assert new
    assert not keys & set(new)
    assert len(set(new)) == len(new)


def test_a_change_by_a_colleague_is_commented_and_recorded() -> None:
    instance = catalogue()[PLAYED].plan(4, 0, EVENTS)
    records = {one.kind: one for one in instance.injections}
    (change,) = _scheduled_events(instance, "change")
    comments = {one["due_at"] for one in _scheduled_events(instance, "comment")}
    assert records[Kind.PRIORITY_CHANGED].detail == {"from": change["due_at"], "priority": change["data"]["priority"]}
    assert change["once_verified"] == change["data"]["ticket_key"]
    assert records[Kind.PUT_ON_HOLD].entity == change["data"]["ticket_key"]
    assert change["due_at"] in comments


def test_scheduled_events_are_not_attributed_to_an_agent_that_waits(play_all: PlayAll) -> None:
    seen: list[Any] = []

    async def waiting(task: TaskView, call: Call) -> None:
        key = ticket_key_in(task.brief)
        await call("wait", {"minutes": 5 * 1440})
        seen.append((await call("ticketdesk_get_ticket", {"key": key})).result)
        seen.append((await call("ticketdesk_list_comments", {"key": key})).result)
        raise EpisodeOverError

    specs = EpisodeSpec(scenario=PLAYED, player=waiting, seed=4, chaos=0, overrides=EVENTS)
    (kept,) = play_all([specs])
    (change,) = _scheduled_events(kept.instance, "change")
    ticket, comments = seen
    assert ticket["status"] == "blocked"
    assert ticket["priority"] != change["data"]["priority"], "that waits until the ticket is verified"
    assert not [link for link in ticket["links"] if link["relation"] == "is_blocked_by"]
    assert len(comments["items"]) >= 4
    changes = kept.evidence.changes("ticketdesk")
    assert {change.actor for change in changes} == {Actor.CLOCK}
    assert not kept.evidence.agent_changes()
    assert not kept.result.success
