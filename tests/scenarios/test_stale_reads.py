"""Reads that lag behind a write: each shows one earlier state of the whole service, without other changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from companyos.contract import ResetOptions
from companyos.policies import Call, EpisodeOverError, TaskView
from companyos_gateway.chaos import FaultPlan, Kind, profile_for
from companyos_gateway.chaos.faults import STALE_MINUTES
from companyos_gateway.engine.inspection import PageAccess, fetch_page
from companyos_gateway.ui.desk.service_pages import build_page_call
from companyos_players import ToolClient, ticket_key_in
from companyos_shared.pages import Shell
from companyos_shared.wire.context import FaultKind
from tests.scenarios.engine import EpisodeSpec, PlayAll, open_engine
from verification.in_process import in_process_runtime
from verification.proof import RecordedEpisode

PLAYED = "license_renewal"
FORCED = {Kind.STALE_READ.value: 1.0}
CALM = {Kind.MISSING_STATUS.value: 0.0}


def _play(player: Any, play_all: PlayAll, **overrides: float) -> RecordedEpisode:
    specs = EpisodeSpec(scenario=PLAYED, player=player, seed=3, chaos=0, overrides={**FORCED, **CALM, **overrides})
    return play_all([specs])[0]


async def _result(call: Call, tool: str, **arguments: Any) -> Any:
    return (await call(f"ticketdesk_{tool}", arguments)).result


async def _tag(call: Call, key: str, tag: str) -> Any:
    return await _result(call, "update_ticket", key=key, tags=[tag])


async def _tagged(call: Call, tag: str) -> list[str]:
    return [ticket["key"] for ticket in (await _result(call, "list_tickets", tag=tag))["items"]]


def test_a_read_after_a_write_shows_the_old_state_and_a_later_read_the_new_one(play_all: PlayAll) -> None:
    seen: list[Any] = []

    async def player(task: TaskView, call: Call) -> None:
        key = ticket_key_in(task.brief)
        changed = await _tag(call, key, "seen")
        soon = await _result(call, "get_ticket", key=key)
        await call("wait", {"minutes": STALE_MINUTES[1]})
        seen.extend([changed, soon, await _result(call, "get_ticket", key=key)])
        raise EpisodeOverError

    kept = _play(player, play_all)
    changed, soon, late = seen
    assert (changed["tags"], late["tags"]) == (["seen"], ["seen"])
    assert soon["tags"] != ["seen"]
    assert soon["version"] == changed["version"] - 1
    planned = [line.planned for line in kept.evidence.audits("ticketdesk")]
    assert planned == [None, FaultKind.STALE_READ, None]


def test_every_read_of_the_service_shows_the_same_earlier_state(play_all: PlayAll) -> None:
    seen: list[Any] = []

    async def player(task: TaskView, call: Call) -> None:
        key = ticket_key_in(task.brief)
        await _tag(call, key, "seen")
        lists = [await _tagged(call, "seen")]
        await call("wait", {"minutes": STALE_MINUTES[1]})
        seen.extend([key, *lists, await _tagged(call, "seen")])
        raise EpisodeOverError

    _play(player, play_all)
    key, soon, late = seen
    assert (soon, late) == ([], [key])


def test_with_several_hidden_writes_reads_show_the_state_before_the_oldest(play_all: PlayAll) -> None:
    seen: list[Any] = []

    async def player(task: TaskView, call: Call) -> None:
        key = ticket_key_in(task.brief)
        tickets = (await _result(call, "list_tickets"))["items"]
        other = next(ticket["key"] for ticket in tickets if ticket["key"] != key)
        await call("wait", {"minutes": STALE_MINUTES[1]})
        for one in (key, other):
            await _tag(call, one, "seen")
        for _ in range(2 * STALE_MINUTES[1]):
            shown = await _tagged(call, "seen")
            seen.append([one in shown for one in (key, other)])
        raise EpisodeOverError

    kept = _play(player, play_all)
    lags = [line.planned is FaultKind.STALE_READ for line in kept.evidence.audits("ticketdesk")][3:]
    assert seen[0] == [False, False]
    assert [False, True] not in seen
    assert seen == sorted(seen)
    assert seen[-1] == [True, True]
    assert all(shown == [True, True] for shown, lag in zip(seen, lags, strict=True) if not lag)


def test_reads_of_another_service_are_not_stale(play_all: PlayAll) -> None:
    async def player(task: TaskView, call: Call) -> None:
        await _tag(call, ticket_key_in(task.brief), "seen")
        await call("approvalflow_list_approval_types", {})
        raise EpisodeOverError

    kept = _play(player, play_all)
    assert [line.planned for line in kept.evidence.audits("approvalflow")] == [None]


def test_a_client_that_sees_an_older_version_waits(play_all: PlayAll) -> None:
    seen: list[Any] = []

    async def player(task: TaskView, call: Call) -> None:
        client, key = ToolClient(call), ticket_key_in(task.brief)
        await client.call("ticketdesk_update_ticket", key=key, tags=["seen"])
        seen.append(await client.call("ticketdesk_get_ticket", key=key))
        raise EpisodeOverError

    _play(player, play_all)
    assert seen[0]["tags"] == ["seen"]


async def test_pages_are_as_stale_as_tools(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as engine:
        episode = await engine.reset(ResetOptions(scenario=PLAYED, seed=3, chaos=0, chaos_overrides={**FORCED, **CALM}))
        key = ticket_key_in(episode.task.instance.brief)
        page = build_page_call(f"tickets/{key}", "", Shell(app="ticketdesk", title="TicketDesk"))

        async def shows_tag(access: PageAccess) -> bool:
            response = await fetch_page(engine.service_clients, episode, "ticketdesk", page, access)
            assert response.status == 200
            return b"only-just-set" in response.payload

        await engine.step(episode, "ticketdesk_update_ticket", {"key": key, "tags": ["only-just-set"]})
        assert [await shows_tag(access) for access in PageAccess] == [False, False, True]
        await engine.step(episode, "wait", {"minutes": STALE_MINUTES[1]})
        assert [await shows_tag(access) for access in PageAccess] == [True, True, True]


async def test_a_fork_reads_the_same_stale_state_as_its_origin(tmp_path: Path) -> None:
    async with in_process_runtime(tmp_path) as runtime:
        engine = runtime.engine()
        episode = await engine.reset(ResetOptions(scenario=PLAYED, seed=3, chaos=0, chaos_overrides={**FORCED, **CALM}))
        key = ticket_key_in(episode.task.instance.brief)
        await engine.step(episode, "ticketdesk_update_ticket", {"key": key, "tags": ["seen"]})
        snapshot = await runtime.snapshots().take(episode)
        (fork,) = await runtime.snapshots().fork(snapshot.id, 1)
        tags = [
            (await engine.step(one, "ticketdesk_get_ticket", {"key": key})).result["tags"] for one in (episode, fork)
        ]
        assert tags[0] == tags[1] != ["seen"]


def test_the_delay_of_reads_depends_only_on_the_write() -> None:
    plan = FaultPlan.from_profile(profile_for(0), FORCED, "a test", 5)
    minutes = [plan.stale_minutes("ticketdesk", "update_ticket", f"OPS-{n}", 1) for n in range(60)]
    assert {STALE_MINUTES[0], STALE_MINUTES[1]} <= set(minutes) <= set(range(STALE_MINUTES[0], STALE_MINUTES[1] + 1))
    assert plan.stale_minutes("approvalflow", "submit_approval", "", 1) == 0
    calm = FaultPlan.from_profile(profile_for(0), {}, "a test", 5)
    assert calm.stale_minutes("ticketdesk", "update_ticket", "OPS-1", 1) == 0
