"""Reads that lag behind a write: what an agent sees for some minutes, and that nothing else is changed by it."""

from __future__ import annotations

from typing import Any

from companyos.policies import Call, EpisodeOverError, TaskView
from companyos_gateway.chaos import FaultPlan, Kind, profile_for
from companyos_gateway.chaos.faults import STALE_MINUTES
from companyos_gateway.engine.progress import entity_of
from companyos_players import ToolClient, ticket_key_in
from companyos_shared.wire.context import FaultKind
from tests.scenarios.engine import EpisodeSpec, PlayAll
from verification.proof import RecordedEpisode

PLAYED = "license_renewal"
FORCED = {Kind.STALE_READ.value: 1.0}
CALM = {Kind.MISSING_STATUS.value: 0.0}


def _play(player: Any, play_all: PlayAll, **overrides: float) -> RecordedEpisode:
    specs = EpisodeSpec(scenario=PLAYED, player=player, seed=3, chaos=0, overrides={**FORCED, **CALM, **overrides})
    return play_all([specs])[0]


def test_a_read_after_a_write_shows_what_was_and_a_later_one_what_is(play_all: PlayAll) -> None:
    seen: list[Any] = []

    async def player(task: TaskView, call: Call) -> None:
        key = ticket_key_in(task.brief)
        changed = (await call("ticketdesk_update_ticket", {"key": key, "tags": ["seen"]})).result
        soon = (await call("ticketdesk_get_ticket", {"key": key})).result
        await call("wait", {"minutes": STALE_MINUTES[1]})
        late = (await call("ticketdesk_get_ticket", {"key": key})).result
        seen.extend([changed, soon, late])
        raise EpisodeOverError

    kept = _play(player, play_all)
    changed, soon, late = seen
    assert (changed["tags"], late["tags"]) == (["seen"], ["seen"])
    assert soon["tags"] != ["seen"]
    assert soon["version"] == changed["version"] - 1
    planned = [line.planned for line in kept.evidence.audits("ticketdesk")]
    assert planned == [None, FaultKind.STALE_READ, None]


def test_other_entities_are_read_as_they_are(play_all: PlayAll) -> None:
    seen: list[Any] = []

    async def player(task: TaskView, call: Call) -> None:
        key = ticket_key_in(task.brief)
        await call("ticketdesk_update_ticket", {"key": key, "tags": ["seen"]})
        seen.append((await call("ticketdesk_list_tickets", {"tag": "seen"})).result)
        raise EpisodeOverError

    kept = _play(player, play_all)
    assert [line.planned for line in kept.evidence.audits("ticketdesk")] == [None, None]


def test_steady_hands_see_an_older_version_and_wait(play_all: PlayAll) -> None:
    seen: list[Any] = []

    async def player(task: TaskView, call: Call) -> None:
        client, key = ToolClient(call), ticket_key_in(task.brief)
        await client.call("ticketdesk_update_ticket", key=key, tags=["seen"])
        seen.append(await client.call("ticketdesk_get_ticket", key=key))
        raise EpisodeOverError

    _play(player, play_all)
    assert seen[0]["tags"] == ["seen"]


def test_how_long_reads_lag_is_drawn_by_the_write_alone() -> None:
    plan = FaultPlan.from_profile(profile_for(0), FORCED, "a test", 5)
    minutes = [plan.stale_minutes("ticketdesk", "update_ticket", f"OPS-{n}", 1) for n in range(60)]
    assert {STALE_MINUTES[0], STALE_MINUTES[1]} <= set(minutes) <= set(range(STALE_MINUTES[0], STALE_MINUTES[1] + 1))
    assert plan.stale_minutes("approvalflow", "submit_approval", "", 1) == 0
    assert (
        FaultPlan.from_profile(profile_for(0), {}, "a test", 5).stale_minutes("ticketdesk", "update_ticket", "OPS-1", 1)
        == 0
    )
    assert plan.fault_for("ticketdesk", "update_ticket", "OPS-1", 1) is None


def test_a_part_of_a_thing_lags_with_the_thing() -> None:
    assert (entity_of("OPS-1/item-3"), entity_of("OPS-1"), entity_of("")) == ("OPS-1", "OPS-1", "")
