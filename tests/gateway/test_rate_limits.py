"""Fair shares of the event loop: clients that wait, clients that do not, and clients that are refused."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

import pytest

from companyos_gateway.engine.errors import RateLimitedError
from companyos_gateway.middleware.fair_share import (
    ACTIVE_S,
    BURST_S,
    MAX_SHARE,
    ChargedAwaitable,
    ClientAccount,
    FairShareScheduler,
    charge_episode,
    client_of_episode,
)
from tests.gateway.conftest import TRAINER, NotesGateway, OpenGateway, http_client, problem
from tests.gateway.sockets import connected

MIN_SHARE = 0.05


class Clock:
    """A manual clock."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shares(clock: Clock) -> FairShareScheduler:
    return FairShareScheduler(min_share=MIN_SHARE, max_waiting=2, clock=clock)


async def _is_admitted(shares: FairShareScheduler, name: str) -> bool:
    """Return whether a client is admitted without waiting."""
    try:
        await asyncio.wait_for(shares.admit(name), 0.0001)
    except TimeoutError:
        return False
    return True


async def test_a_single_client_never_waits(shares: FairShareScheduler) -> None:
    for _ in range(10):
        shares.charge("a", 1.0)
        assert await _is_admitted(shares, "a")


async def test_a_client_without_budget_waits_while_others_are_active(shares: FairShareScheduler, clock: Clock) -> None:
    await shares.admit("a")
    await shares.admit("b")
    shares.charge("a", BURST_S + 0.1)
    assert not await _is_admitted(shares, "a")
    assert await _is_admitted(shares, "b")
    clock.now += 0.1 / MAX_SHARE + 0.001
    assert await _is_admitted(shares, "a")


async def test_a_client_that_is_the_only_one_again_continues(shares: FairShareScheduler, clock: Clock) -> None:
    await shares.admit("b")
    shares.charge("a", 10.0)
    assert not await _is_admitted(shares, "a")
    clock.now += ACTIVE_S + 0.001
    assert await _is_admitted(shares, "a")


async def test_time_used_by_a_single_client_is_not_a_debt(shares: FairShareScheduler) -> None:
    shares.charge("a", 100.0)
    await shares.admit("b")
    assert shares.charge("a", 0.01) == pytest.approx(0.01 / MAX_SHARE)


async def test_shares_depend_on_the_number_of_active_clients(shares: FairShareScheduler, clock: Clock) -> None:
    for number in range(1000):
        await shares.admit(f"client {number}")
    assert shares.share() == MIN_SHARE
    clock.now += ACTIVE_S + 0.001
    await shares.admit("a")
    assert (len(shares), shares.share()) == (1, MAX_SHARE)


async def test_a_client_with_a_debt_is_remembered(shares: FairShareScheduler, clock: Clock) -> None:
    await shares.admit("a")
    shares.charge("b", 10.0)
    clock.now += ACTIVE_S + 0.001
    await shares.admit("a")
    assert not await _is_admitted(shares, "b")


async def test_requests_beyond_the_queue_of_a_client_are_rejected(shares: FairShareScheduler) -> None:
    await shares.admit("b")
    shares.charge("a", 10.0)
    waiting = [asyncio.create_task(shares.admit("a")) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(RateLimitedError):
        await shares.admit("a")
    assert await _is_admitted(shares, "b")
    for one in waiting:
        one.cancel()


async def test_waiting_requests_continue_in_order_as_the_budget_fills() -> None:
    shares, order = FairShareScheduler(min_share=MIN_SHARE, max_waiting=8), []

    async def admitted(number: int) -> None:
        await shares.admit("a")
        order.append(number)

    await shares.admit("b")
    shares.charge("a", BURST_S + 0.005)
    await asyncio.wait_for(asyncio.gather(*map(admitted, range(5))), 5)
    assert order == [0, 1, 2, 3, 4]


async def test_a_request_that_is_cancelled_just_before_its_admission_does_not_stop_the_others() -> None:
    shares = FairShareScheduler(min_share=MIN_SHARE, max_waiting=8)

    async def first() -> None:
        await shares.admit("a")
        waiting[0].cancel()

    await shares.admit("b")
    shares.charge("a", BURST_S + 0.005)
    cancelling = asyncio.create_task(first())
    waiting = [asyncio.create_task(shares.admit("a")) for _ in range(2)]
    await asyncio.wait_for(asyncio.gather(cancelling, waiting[1]), 1.0)
    assert waiting[0].cancelled()


async def test_a_flood_gets_no_more_than_its_share_of_the_event_loop() -> None:
    shares, taken = FairShareScheduler(min_share=MIN_SHARE, max_waiting=64), Counter[str]()

    async def work(name: str) -> None:
        until = time.perf_counter() + 0.001
        while time.perf_counter() < until:
            pass
        taken[name] += 1

    async def ask(name: str, pause_s: float) -> None:
        while True:
            ticket = ClientAccount(shares, name)
            await ticket.admit()
            await ChargedAwaitable(work(name), ticket)
            await asyncio.sleep(pause_s)

    others = [asyncio.create_task(ask(f"other {number}", 0.2)) for number in range(39)]
    flood = [asyncio.create_task(ask("flood", 0)) for _ in range(20)]
    await asyncio.sleep(1.5)
    for one in [*others, *flood]:
        one.cancel()
    assert taken["flood"] < 3 * 1500 * max(MIN_SHARE, 2 / 40)
    assert min(taken[f"other {number}"] for number in range(39)) >= 3


async def test_a_client_that_changes_its_key_keeps_its_charge(shares: FairShareScheduler) -> None:
    await shares.admit("b")
    ticket = ClientAccount(shares, "a")
    await ticket.admit()
    ticket.charge(1.0)
    ticket.move_to("c")
    assert await _is_admitted(shares, "a")
    assert not await _is_admitted(shares, "c")


async def test_charged_work_passes_values_and_errors_through(shares: FairShareScheduler) -> None:
    done: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            done.append("cancelled")
            raise

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("a bug")

    async def charged() -> None:
        await ChargedAwaitable(work(), ClientAccount(shares, "a"))

    task = asyncio.create_task(charged())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ValueError, match="a bug"):
        await ChargedAwaitable(fail(), ClientAccount(shares, "a"))
    assert done == ["cancelled"]


def test_nothing_is_charged_outside_of_a_request() -> None:
    charge_episode("a")


def _shares_of(gateway: NotesGateway) -> FairShareScheduler:
    shares: FairShareScheduler = gateway.app.state.shares
    return shares


def _names(gateway: NotesGateway) -> set[str]:
    return set(_shares_of(gateway)._clients)


ADDRESS = "address 127.0.0.1"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/episodes/live/state", None),
        ("GET", "/state?episode_id=live", None),
        ("POST", "/v1/episodes/live/step", {}),
        ("POST", "/step", {"action": {}, "episode_id": "live"}),
        ("POST", "/v1/episodes/live/mcp", {}),
    ],
)
async def test_a_request_belongs_to_the_live_episode_that_it_names(
    gateway: NotesGateway, method: str, path: str, body: object
) -> None:
    await gateway.reset(episode_id="live")
    _shares_of(gateway)._clients.clear()
    await gateway.http.request(method, path, json=body)
    assert _names(gateway) - {ADDRESS} == {client_of_episode("live")}


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/episodes/none/state", None),
        ("POST", "/v1/episodes/none/step", {}),
        ("POST", "/step", {"action": {}, "episode_id": "none"}),
        ("POST", "/reset", {"scenario": "none"}),
        ("GET", "/v1/tools", None),
    ],
)
async def test_a_request_without_a_live_episode_belongs_to_its_address(
    gateway: NotesGateway, method: str, path: str, body: object
) -> None:
    await gateway.http.request(method, path, json=body)
    assert _names(gateway) == {ADDRESS}


async def test_a_token_determines_the_client_if_tokens_are_required(locked: NotesGateway) -> None:
    opened = [await locked.reset() for _ in range(2)]
    own, other = (one["episode_id"] for one in opened)
    for authorization, name in (
        (f"Bearer {opened[0]['token']}", client_of_episode(own)),
        ("Bearer none", ADDRESS),
        (None, ADDRESS),
        (f"Bearer {TRAINER}", client_of_episode(other)),
    ):
        _shares_of(locked)._clients.clear()
        async with http_client(locked.app, authorization=authorization) as client:
            await client.post(f"/v1/episodes/{other}/step", json={})
        assert _names(locked) - {"trainer"} == {name}, authorization
    _shares_of(locked)._clients.clear()
    await locked.http.get("/v1/tools")
    assert _names(locked) == {"trainer"}


async def test_a_socket_belongs_to_its_current_episode(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as socket:
        await socket.reset(episode_id="live")
        _shares_of(gateway)._clients.clear()
        await socket.step("notes_list_notes")
        assert _names(gateway) == {client_of_episode("live")}


async def test_ended_episodes_leave_the_share_of_the_others_as_it_is(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as socket:
        for number in range(6):
            await gateway.reset(episode_id=f"closed-{number}")
            await gateway.http.delete(f"/v1/episodes/closed-{number}")
            await socket.reset(episode_id=f"replaced-{number}")
        await socket.reset(episode_id="live")
        clients = _shares_of(gateway)._clients  # a client that a busy machine has left with a negative budget remains
        assert not [name for name, client in clients.items() if "-" in name and client.budget_s >= 0]
        assert client_of_episode("live") in clients


async def test_a_client_with_a_full_queue_gets_retry_after(open_gateway: OpenGateway) -> None:
    async with open_gateway(client_queue=1) as gateway:
        await gateway.reset(episode_id="live")
        _shares_of(gateway).charge(ADDRESS, 1.0)
        waiting = asyncio.create_task(gateway.http.get("/v1/tools"))
        await asyncio.sleep(0.01)
        for refused in (
            await gateway.http.get("/v1/tools"),
            await gateway.http.post("/reset", json={"scenario": "none"}),
        ):
            assert problem(refused) == (429, "rate-limited")
            assert refused.headers["connection"] == "close"
            assert int(refused.headers["retry-after"]) > 0
        assert (await gateway.step("live", "notes_list_notes"))["observation"]["error"] is None
        assert (await waiting).status_code == 200
