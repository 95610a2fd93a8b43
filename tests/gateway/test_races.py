"""Concurrent operations on one episode: each one completes or is refused, and neither harms the other."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from companyos_gateway.engine.episode import MAX_QUEUED_CALLS
from companyos_gateway.engine.errors import EpisodeClosedError
from companyos_gateway.engine.journal import StepIntent
from tests.gateway.conftest import NotesGateway, OpenGateway, problem
from tests.gateway.notes import NoteKeeping
from tests.gateway.sockets import connected
from tests.gateway.transports import Held


@pytest.fixture
def held() -> Held:
    return Held()


async def _while_held(held: Held, request: Any, meanwhile: Any) -> Any:
    """Run `meanwhile` while the services hold back their responses to a request, and return the request's result."""
    held.arrived.clear()
    held.released.clear()
    asking = asyncio.ensure_future(request)
    await held.arrived.wait()
    await meanwhile
    held.released.set()
    return await asking


@pytest.mark.parametrize("is_freed", [False, True])
async def test_evidence_never_contains_a_part_of_a_step(
    open_gateway: OpenGateway, held: Held, *, is_freed: bool
) -> None:
    async with open_gateway(wrap=held.wrap) as gateway:
        episode = await gateway.begin("one")

        readings: list[asyncio.Future[Any]] = []

        async def read_evidence() -> None:
            readings.append(asyncio.ensure_future(gateway.http.get(f"/v1/episodes/{episode}/evidence")))
            await asyncio.wait(readings, timeout=0.05)
            if is_freed:
                await gateway.http.delete(f"/v1/episodes/{episode}")

        await _while_held(held, gateway.post_step(episode, "notes_write_note", text="two"), read_evidence())
        answer = await readings[0]
        if is_freed:
            assert problem(answer) == (409, "episode-closed")
        else:
            stored = answer.json()
            assert stored["state"]["step_count"] == stored["audits"]["notes"][-1]["step"] == 2


async def test_a_snapshot_of_an_episode_that_is_freed_concurrently_is_rejected(
    open_gateway: OpenGateway, held: Held, tmp_path: Path
) -> None:
    async with open_gateway(wrap=held.wrap) as gateway:
        episode = await gateway.begin("one")
        taking = gateway.http.post(f"/v1/episodes/{episode}/snapshots")
        answer = await _while_held(held, taking, gateway.http.delete(f"/v1/episodes/{episode}"))
        assert problem(answer) == (409, "episode-closed")
        assert (await gateway.http.get("/v1/snapshots")).json() == []
        await gateway.runtime.engine().store.aclose()
        assert list(tmp_path.rglob("snapshots/*.db")) == []


async def test_an_episode_that_is_freed_during_a_restore_stays_deleted(
    open_kept: OpenGateway, held: Held, kept: Path
) -> None:
    async with open_kept(wrap=held.wrap) as gateway:
        episode = await gateway.begin("one")
        restoring = gateway.restore(episode, await gateway.snapshot(episode))
        answer = await _while_held(held, restoring, gateway.http.delete(f"/v1/episodes/{episode}"))
        assert problem(answer) == (409, "episode-closed")
        assert list((kept / "gateway" / "episodes").glob("[!.]*")) == []


async def test_a_reset_during_a_restore_fails_and_the_episode_is_unchanged_after_a_restart(
    open_kept: OpenGateway, held: Held
) -> None:
    async with open_kept(wrap=held.wrap) as gateway:
        async with connected(gateway.app) as socket:
            await socket.reset(episode_id="mine")
            await socket.step("notes_write_note", text="one")
            restoring = gateway.restore("mine", await gateway.snapshot("mine"))
            answer = await _while_held(held, restoring, socket.reset(episode_id="mine"))
            assert problem(answer) == (409, "episode-closed")
            await socket.step("notes_write_note", text="two")
        output = await gateway.evidence("mine")
    async with open_kept() as gateway:
        assert await gateway.evidence("mine") == output


async def test_concurrent_snapshots_respect_the_limit(open_gateway: OpenGateway, held: Held) -> None:
    async with open_gateway(wrap=held.wrap, max_snapshots=1) as gateway:
        first, second = [await gateway.begin() for _ in range(2)]
        await gateway.step(first, "notes_write_note", text="first")
        await gateway.step(second, "notes_write_note", text="second")
        one, other = (gateway.http.post(f"/v1/episodes/{episode}/snapshots") for episode in (first, second))
        both = await _while_held(held, asyncio.gather(one, other), asyncio.sleep(0.05))
        assert sorted(answer.status_code for answer in both) == [201, 409]
        assert len((await gateway.http.get("/v1/snapshots")).json()) == 1


async def test_a_rejected_resume_does_not_take_the_episode_from_its_session(
    open_gateway: OpenGateway, held: Held
) -> None:
    scenario = NoteKeeping(max_steps=30)
    async with (
        open_gateway(scenario, wrap=held.wrap) as gateway,
        connected(gateway.app) as first,
        connected(gateway.app) as second,
    ):
        await first.reset(episode_id="mine")
        token = (await first.state())["token"]
        episode = gateway.runtime.engine().store.get("mine")
        refused: list[dict[str, Any]] = []

        async def resume_in_the_crowd() -> None:
            while episode.queued["calls"] < MAX_QUEUED_CALLS:  # noqa: ASYNC110  # the gate has no event for queued calls
                await asyncio.sleep(0.01)
            refused.append(await second.exchange({"type": "reset", "data": {"resume": token}}))

        many = asyncio.gather(*(gateway.post_step("mine", "notes_list_notes") for _ in range(MAX_QUEUED_CALLS + 1)))
        await _while_held(held, many, resume_in_the_crowd())
        assert refused[0]["data"]["message"].startswith("too-many-waiting")
        assert (await first.step("notes_list_notes"))["type"] == "observation"


async def test_a_reset_does_not_end_an_episode_that_another_session_resumed_concurrently(
    open_gateway: OpenGateway, held: Held
) -> None:
    async with (
        open_gateway(wrap=held.wrap) as gateway,
        connected(gateway.app) as first,
        connected(gateway.app) as second,
    ):
        await first.reset(episode_id="mine")
        token = (await first.state())["token"]
        resume = second.exchange({"type": "reset", "data": {"resume": token}})
        begun = await _while_held(held, first.reset(seed=2), resume)
        assert begun["type"] == "observation"
        assert (await second.step("notes_list_notes"))["type"] == "observation"
        assert (await second.state())["episode_id"] == "mine"
        assert (await first.state())["seed"] == 2


async def test_an_episode_that_was_deleted_by_another_client_is_reported_as_closed(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as socket:
        await socket.reset(episode_id="mine")
        assert (await socket.state())["done"] is False
        await gateway.http.delete("/v1/episodes/mine")
        state = await socket.state()
        assert (state["done"], state["outcome"]) == (True, "closed")


async def test_a_step_in_flight_during_a_reset_leaves_no_database_of_its_epoch(
    gateway: NotesGateway, tmp_path: Path
) -> None:
    async with connected(gateway.app) as socket:
        engine = gateway.runtime.engine()
        await socket.reset(episode_id="mine")
        previous = engine.store.get("mine")
        await socket.reset(episode_id="mine")
        intent = StepIntent(step=1, tool="notes_write_note", arguments={"text": "late"})
        with pytest.raises(EpisodeClosedError):
            await engine.run_step(previous, intent)
        await gateway.http.delete("/v1/episodes/mine")
        await engine.store.aclose()
        assert list(tmp_path.glob("notes/episodes/*")) == []
