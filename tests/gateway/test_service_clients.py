"""Calls to a service over a bad connection: resent only after a real error."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import httpx
import pytest

from companyos_gateway.engine.errors import ServicesUnavailableError
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_shared.wire.context import CONTEXT_HEADER, SIGNATURE_HEADER
from tests.gateway.conftest import NotesGateway, OpenGateway
from tests.gateway.notes import STARTED_AT, NoteKeeping
from tests.gateway.transports import ServiceTransport


class Flaky(ServiceTransport):
    """Transport to the service that loses the given numbers of requests and responses."""

    def __init__(self) -> None:
        self.lose_requests = 0
        self.lose_answers = 0
        self.sent: list[tuple[str, str, str]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        signed = request.headers.get(CONTEXT_HEADER, ""), request.headers.get(SIGNATURE_HEADER, "")
        self.sent.append((request.url.path, *signed))
        if self.lose_requests:
            self.lose_requests -= 1
            raise httpx.ConnectError("refused")
        answer = await super().handle_async_request(request)
        if self.lose_answers:
            self.lose_answers -= 1
            await answer.aread()
            raise httpx.ReadError("reset")
        return answer


@pytest.fixture
def flaky() -> Flaky:
    return Flaky()


async def test_a_write_whose_response_was_lost_is_applied_once(open_gateway: OpenGateway, flaky: Flaky) -> None:
    async with open_gateway(wrap=flaky.wrap) as gateway:
        episode = await gateway.begin()
        flaky.sent.clear()
        flaky.lose_answers = 2
        answer = await gateway.step(episode, "notes_finish_note", note_id=1)
        assert answer["reward"] == 1.9
        assert len(flaky.sent) == 3
        assert len(set(flaky.sent)) == 1


async def test_a_settle_whose_response_was_lost_loses_no_change(open_gateway: OpenGateway, flaky: Flaky) -> None:
    scenario = NoteKeeping(later=STARTED_AT + timedelta(minutes=5))
    async with open_gateway(scenario, wrap=flaky.wrap) as gateway:
        episode = await gateway.begin()
        flaky.lose_answers = 1
        await gateway.step(episode, "wait", minutes=10)
        await gateway.step(episode, "finish", outcome="done", summary="Checked.")
        assert (await gateway.state(episode))["outcome"] == "failed"
        assert len(gateway.runtime.engine().store.get(episode).evidence.changes("notes")) == 1


async def test_an_unreachable_service_ends_only_its_episode(open_gateway: OpenGateway, flaky: Flaky) -> None:
    async with open_gateway(wrap=flaky.wrap, step_timeout_s=0.5) as gateway:
        one, other = [await gateway.begin() for _ in range(2)]
        flaky.lose_requests = 10_000
        answer = await gateway.step(one, "notes_list_notes")
        assert answer["observation"]["error"]["error_type"] == "execution_error"
        assert (await gateway.state(one))["outcome"] == "infra_error"
        flaky.lose_requests = 0
        assert (await gateway.step(other, "notes_list_notes"))["observation"]["result"]


async def test_a_service_that_recovers_within_the_retry_budget_loses_no_step(
    open_gateway: OpenGateway, flaky: Flaky
) -> None:
    async with open_gateway(wrap=flaky.wrap, step_timeout_s=3.0) as gateway:
        episode = await gateway.begin()
        flaky.lose_requests = 1_000_000
        asyncio.get_running_loop().call_later(1.4, setattr, flaky, "lose_requests", 0)
        answer = await gateway.step(episode, "notes_finish_note", note_id=1)
    assert answer["observation"]["error"] is None


async def test_health_is_healthy_only_while_every_service_responds(open_gateway: OpenGateway, flaky: Flaky) -> None:
    async with open_gateway(wrap=flaky.wrap) as gateway:
        assert (await _health(gateway)) == (200, "healthy")
        flaky.lose_requests = 1
        assert (await _health(gateway)) == (503, "unhealthy")
        assert (await _health(gateway)) == (200, "healthy")


async def test_an_unreachable_service_is_not_ready() -> None:
    gone = ServiceClients.from_addresses({"gone": "unix:/nowhere/gone.sock"}, b"key")
    assert await gone.readiness() == {"gone": False}
    with pytest.raises(ServicesUnavailableError):
        await gone.openapi()
    await gone.aclose()


async def _health(gateway: NotesGateway) -> tuple[int, str]:
    answer = await gateway.http.get("/health")
    return answer.status_code, answer.json()["status"]
