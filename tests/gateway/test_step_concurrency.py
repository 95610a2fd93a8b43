"""Many concurrent steps: a service gets as many as it can answer in time; the others wait before they begin."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from companyos_gateway.engine import concurrency
from tests.gateway.conftest import OpenGateway, problem
from tests.gateway.transports import Held, ServiceTransport

CROWD = 100
QUEUE_TIMEOUT_S = 0.05


class ConcurrencyRecorder(ServiceTransport):
    """Transport that counts the concurrent calls of tools."""

    def __init__(self) -> None:
        self.inside = self.most = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not request.url.path.startswith("/notes"):
            return await super().handle_async_request(request)
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await asyncio.sleep(0)
            return await super().handle_async_request(request)
        finally:
            self.inside -= 1


async def test_the_steps_in_a_service_are_limited(open_gateway: OpenGateway) -> None:
    recorder = ConcurrencyRecorder()
    async with open_gateway(wrap=recorder.wrap) as gateway:
        episodes = [await gateway.begin() for _ in range(CROWD)]
        seen = await asyncio.gather(
            *(gateway.step(episode, "notes_write_note", text="in time") for episode in episodes)
        )
    assert all(answer["observation"]["error"] is None for answer in seen)
    assert 1 < recorder.most <= concurrency.MAX_CONCURRENT_STEPS < CROWD


async def test_a_step_that_waits_too_long_in_the_queue_is_rejected_and_not_taken(
    open_gateway: OpenGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency, "MAX_CONCURRENT_STEPS", 1)
    monkeypatch.setattr(concurrency, "QUEUE_TIMEOUT_S", QUEUE_TIMEOUT_S)
    held = Held()
    async with open_gateway(wrap=held.wrap) as gateway:
        first, second = [await gateway.begin() for _ in range(2)]
        held.released.clear()
        holding = asyncio.create_task(gateway.step(first, "notes_list_notes"))
        await held.arrived.wait()
        refused = await gateway.post_step(second, "notes_write_note", text="too late")
        assert problem(refused) == (503, "services-unavailable")
        assert refused.headers["retry-after"]
        assert (await gateway.step(second, "wait", minutes=5))["observation"]["result"] == {"waited_minutes": 5}
        held.released.set()
        assert (await holding)["observation"]["error"] is None
        assert (await gateway.state(second))["step_count"] == 1
        assert len((await gateway.step(second, "notes_list_notes"))["observation"]["result"]) == 2
