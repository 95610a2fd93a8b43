"""Ended episodes are dropped in all services: in batches, and again after failures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from companyos_gateway.engine import episode_removal
from companyos_gateway.engine.episode_files import ENDED_PREFIX
from companyos_gateway.engine.episode_removal import DropQueue
from tests.gateway.conftest import OpenGateway
from tests.gateway.transports import ServiceTransport

MANY = 60
DEADLINE_S = 5.0


class Drops(ServiceTransport):
    """Service that records the size of each batch, and fails all drops while `unreachable`."""

    def __init__(self) -> None:
        self.unreachable = False
        self.batches: list[int] = []
        self.failed = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/control/drop":
            if self.unreachable:
                self.failed += 1
                raise httpx.ConnectError("unreachable")
            self.batches.append(len(json.loads(request.content)["episodes"]))
        return await super().handle_async_request(request)


def _folders(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "notes" / "episodes").glob("*"))


async def _wait_until_dropped(tmp_path: Path) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while _folders(tmp_path):  # noqa: ASYNC110 - a deleted file notifies nobody
            await asyncio.sleep(0.01)


@pytest.fixture
def drops() -> Drops:
    """The drops that the service receives."""
    return Drops()


async def test_episodes_that_end_together_are_dropped_in_batches_of_limited_size(
    open_gateway: OpenGateway, drops: Drops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episode_removal, "COLLECT_S", DEADLINE_S)
    async with open_gateway(wrap=drops.wrap) as gateway:
        episodes = [await gateway.begin("to be dropped") for _ in range(MANY)]
        await asyncio.gather(*(gateway.http.delete(f"/v1/episodes/{episode}") for episode in episodes))
        await gateway.runtime.engine().store.remover.flush()
        assert _folders(tmp_path) == []
    assert drops.batches == [16, 16, 16, 12]


async def test_ended_episodes_are_dropped_without_a_further_request(
    open_gateway: OpenGateway, drops: Drops, tmp_path: Path
) -> None:
    async with open_gateway(wrap=drops.wrap) as gateway:
        await gateway.http.delete(f"/v1/episodes/{await gateway.begin('to be dropped')}")
        assert len(_folders(tmp_path)) == 1
        await _wait_until_dropped(tmp_path)
    assert drops.batches == [1]


async def test_episodes_without_service_calls_are_not_dropped_in_any_service(
    open_kept: OpenGateway, drops: Drops, kept: Path
) -> None:
    async with open_kept(wrap=drops.wrap) as gateway:
        episode = await gateway.begin()
        await gateway.http.delete(f"/v1/episodes/{episode}")
        await gateway.runtime.engine().store.remover.flush()
        assert list((kept / "gateway" / "episodes").iterdir()) == []
    assert drops.batches == []


async def test_an_unconfirmed_drop_is_retried_and_the_episode_stays_marked(
    open_kept: OpenGateway, drops: Drops, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episode_removal, "RETRY_INTERVAL_S", 0.05)
    async with open_kept(wrap=drops.wrap) as gateway:
        episode = await gateway.begin("to be dropped")
        gateway.runtime.engine().service_clients.set_step_timeout(0.05)
        drops.unreachable = True
        assert (await gateway.http.delete(f"/v1/episodes/{episode}")).status_code == 204
        await gateway.runtime.engine().store.remover.flush()
        marked = list((kept / "gateway" / "episodes").glob(f"{ENDED_PREFIX}*"))
        assert (len(_folders(tmp_path)), len(marked)) == (1, 1)
        drops.unreachable = False
        await _wait_until_dropped(tmp_path)
        await gateway.runtime.engine().store.remover.flush()
        assert not marked[0].exists()


async def test_an_unresponsive_service_is_not_called_for_every_episode(open_gateway: OpenGateway, drops: Drops) -> None:
    async with open_gateway(wrap=drops.wrap) as gateway:
        for _ in range(MANY):
            await gateway.begin("to be dropped")
        gateway.runtime.engine().service_clients.set_step_timeout(0.05)
        drops.unreachable = True
        began = asyncio.get_running_loop().time()
        await gateway.runtime.engine().store.aclose()
        took_s = asyncio.get_running_loop().time() - began
    assert 0 < drops.failed < MANY
    assert took_s < DEADLINE_S


async def test_a_shutdown_does_not_wait_for_an_unresponsive_service(
    open_gateway: OpenGateway, drops: Drops, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episode_removal, "COLLECT_S", DEADLINE_S)
    async with open_gateway(wrap=drops.wrap) as gateway:
        episode = await gateway.begin("to be dropped")
        gateway.runtime.engine().service_clients.set_step_timeout(0.05)
        drops.unreachable = True
        await gateway.http.delete(f"/v1/episodes/{episode}")
        await gateway.runtime.engine().store.remover.flush()
        failed = drops.failed
    assert drops.failed == failed > 0


async def test_drops_are_retried_after_an_unexpected_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episode_removal, "COLLECT_S", 0.0)
    monkeypatch.setattr(episode_removal, "RETRY_INTERVAL_S", 0.0)
    sent, dropped = list[Sequence[str]](), asyncio.Event()

    async def send(episodes: Sequence[str]) -> bool:
        sent.append(episodes)
        if len(sent) == 1:
            raise RuntimeError
        return True

    queue = DropQueue(send, lambda _episode: dropped.set())
    queue.add("one")
    async with asyncio.timeout(DEADLINE_S):
        await dropped.wait()
    assert sent == [["one"], ["one"]]
