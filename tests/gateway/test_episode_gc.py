"""Finished episodes are dropped in all services: rate-limited, and retried after failures."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from companyos_gateway.engine import episode_gc
from tests.gateway.conftest import NotesGateway, OpenGateway

CROWD = 60
DEADLINE_S = 5.0


class Drops(httpx.AsyncBaseTransport):
    """Service that records the maximum number of concurrent drops, and fails all drops while `deaf`."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport
        self.deaf = False
        self.inside = self.most = self.unheard = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path != "/control/drop":
            return await self._transport.handle_async_request(request)
        if self.deaf:
            self.unheard += 1
            raise httpx.ConnectError("nobody hears")
        self.inside += 1
        self.most = max(self.most, self.inside)
        await asyncio.sleep(0)
        answer = await self._transport.handle_async_request(request)
        self.inside -= 1
        return answer


def _folders(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "notes" / "episodes").glob("*"))


async def _written(gateway: NotesGateway) -> str:
    episode = str((await gateway.reset())["episode_id"])
    await gateway.step(episode, "notes_write_note", text="to be dropped")
    return episode


async def _until_nothing_lies_there(tmp_path: Path) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while _folders(tmp_path):  # noqa: ASYNC110 - files tell nobody when they go
            await asyncio.sleep(0.01)


@pytest.fixture
def drops() -> list[Drops]:
    """The drop calls that the service received."""
    return []


async def test_a_crowd_that_leaves_at_once_is_dropped_a_few_at_a_time(
    open_gateway: OpenGateway, drops: list[Drops], tmp_path: Path
) -> None:
    def wrap(transport: httpx.AsyncBaseTransport) -> Drops:
        drops.append(Drops(transport))
        return drops[0]

    async with open_gateway(wrap=wrap) as gateway:
        episodes = [await _written(gateway) for _ in range(CROWD)]
        await asyncio.gather(*(gateway.http.delete(f"/v1/episodes/{episode}") for episode in episodes))
        await _until_nothing_lies_there(tmp_path)
    assert 1 < drops[0].most <= episode_gc.MAX_CONCURRENT_DROPS < CROWD


async def test_a_service_that_did_not_hear_of_a_drop_is_told_again(
    open_gateway: OpenGateway, drops: list[Drops], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episode_gc, "RETRY_INTERVAL_S", 0.05)

    def wrap(transport: httpx.AsyncBaseTransport) -> Drops:
        drops.append(Drops(transport))
        return drops[0]

    async with open_gateway(wrap=wrap) as gateway:
        episode = await _written(gateway)
        gateway.runtime.engine().service_clients.set_step_timeout(0.05)
        drops[0].deaf = True
        assert (await gateway.http.delete(f"/v1/episodes/{episode}")).status_code == 204
        await asyncio.sleep(0.2)
        assert len(_folders(tmp_path)) == 1
        drops[0].deaf = False
        await _until_nothing_lies_there(tmp_path)


async def test_a_service_that_answers_nothing_is_not_asked_for_every_one_of_a_crowd(
    open_gateway: OpenGateway, drops: list[Drops]
) -> None:
    def wrap(transport: httpx.AsyncBaseTransport) -> Drops:
        drops.append(Drops(transport))
        return drops[0]

    async with open_gateway(wrap=wrap) as gateway:
        for _ in range(CROWD):
            await _written(gateway)
        gateway.runtime.engine().service_clients.set_step_timeout(0.05)
        drops[0].deaf = True
        began = asyncio.get_running_loop().time()
        await gateway.runtime.engine().store.aclose()
        took_s = asyncio.get_running_loop().time() - began
    assert drops[0].unheard < CROWD
    assert took_s < DEADLINE_S
