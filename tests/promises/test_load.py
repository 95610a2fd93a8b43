"""A thousand concurrent episodes are isolated, and ten thousand abandoned ones leave nothing behind."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from companyos_gateway.engine.service_connections import MAX_CONNECTIONS
from tests.integration.processes import SERVICES
from tests.promises.conftest import Record
from tests.promises.deployment_under_load import DeploymentUnderLoad, Level, deployment_under_load
from tests.promises.load_players import (
    CANARY,
    STEPS,
    Observations,
    Player,
    abandon,
    all_begun,
    canary_of,
    client_process,
    label_of,
)

FEW, MANY = 100, 1000
FEW_ABANDONED, MANY_ABANDONED = 200, 10_000
SMALL_WAVE, LARGE_WAVE = 100, 500
FEW_BEFORE, MANY_BEFORE = 100, 4000
"""Episodes before the comparison. The heap of the gateway grows until about 3,000 episodes were played 500 at once."""

CLOSE_ENOUGH = 1.05
MAX_POOLED = 2 * len(SERVICES) * (MAX_CONNECTIONS + 2)
"""Both ends of every connection that the gateway may keep open, plus the listening sockets of the services."""

QUIET_DEADLINE_S = 90.0
LOAD_S = 900.0
CLIENTS = 200
SLOT_BACK_S = 15.0
_SOCKETS = (sys.executable, "-m", "tests.promises.load_players")

DETACHED = {"COMPANYOS_DETACHED_LIMIT_S": "1", "COMPANYOS_MAX_EPISODES": "20000"}
SESSIONS, IDLE_S, REAPED_S = 300, 8, 15.0
IDLE = {"COMPANYOS_IDLE_LIMIT_S": str(IDLE_S), "COMPANYOS_MAX_WEBSOCKETS": str(SESSIONS)}
QUICK_PINGS = {"COMPANYOS_WS_PING_INTERVAL_S": "5", "COMPANYOS_WS_PING_TIMEOUT_S": "5"}

pytestmark = pytest.mark.integration


async def _played(deployment: DeploymentUnderLoad, count: int, record: Record) -> Observations:
    """Let players play concurrently, and check the databases while all of them are still live."""
    seen = Observations()
    async with all_begun(deployment.url, deployment.socket_url, count, seen) as players:
        began, before = time.perf_counter(), seen.steps
        await asyncio.gather(*(_play(player) for player in players))
        took_s = time.perf_counter() - began
        record(f"{count} episodes at once x {STEPS} steps, steps/s", f"{(seen.steps - before) / took_s:.0f}")
        await asyncio.to_thread(_check_databases, deployment, seen)
    return seen


async def _play(player: Player) -> None:
    try:
        await player.play()
    except Exception as error:  # noqa: BLE001 - one player's trouble is told, and ends nobody else's play
        player.seen.unclear.append(f"{type(error).__name__}: {error}")


def _check_databases(deployment: DeploymentUnderLoad, seen: Observations) -> None:
    numbers = {label_of(number): number for number in range(len(seen.written))}
    for internal_id, label in deployment.labels().items():
        own = canary_of(numbers.pop(label))
        seen.foreign += sorted(deployment.found(CANARY, internal_id) - {own})
        rows = deployment.marked_rows(internal_id, own)
        if rows != seen.written[label]:
            seen.unclear.append(f"{label} holds {dict(rows)}, not {dict(seen.written[label])}")
    seen.unclear += [f"{label} has no manifest" for label in numbers]


def _check_isolation(deployment: DeploymentUnderLoad, count: int, record: Record) -> None:
    seen = asyncio.run(_played(deployment, count, record))
    record("  answers", ", ".join(f"{number} {name}" for name, number in sorted(seen.answers.items())))
    record("  foreign canaries in observations and databases", len(seen.foreign))
    assert seen.unclear == []
    assert seen.foreign == []
    assert seen.answers.keys() == {"socket observation", "http 2xx"}
    assert seen.steps == count * STEPS
    assert sum(map(Counter.total, seen.written.values())) == count * 9


def _check_nothing_is_left(
    deployment: DeploymentUnderLoad, count: int, *, warm_up: int, wave: int, record: Record
) -> None:
    """Check that the idle resources before and after differ by at most 5 %.

    A wave is a number of concurrent episodes, all of which are abandoned; the next wave begins when none is live any
    more. The deployment has therefore had the same peak before both measurements, so resources that pools and
    allocators keep cancel out.
    """
    before = _after(deployment, range(0, warm_up, wave), wave)
    began = time.perf_counter()
    after = _after(deployment, range(warm_up, warm_up + count, wave), wave)
    took_s = time.perf_counter() - began
    record(f"{count} episodes opened and abandoned, {wave} at once", f"{took_s:.0f} s")
    record(f"  before (after {warm_up} others)", before.to_text())
    record("  after", after.to_text())
    assert after.leaked == 0
    assert after.pooled <= MAX_POOLED
    assert after.descriptors <= before.descriptors * CLOSE_ENOUGH
    assert after.files <= before.files * CLOSE_ENOUGH
    assert after.memory <= before.memory * CLOSE_ENOUGH


def _after(deployment: DeploymentUnderLoad, waves: range, size: int) -> Level:
    for first in waves:
        assert asyncio.run(abandon(deployment.socket_url, range(first, first + size))) == {}
        level = deployment.wait_for(lambda level: level.live == level.slots == 0, QUIET_DEADLINE_S)
    return level


@pytest.fixture(scope="module")
def small_deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentUnderLoad]:
    """A deployment for the small sizes."""
    with deployment_under_load(tmp_path_factory.mktemp("gateway"), DETACHED) as deployment:
        yield deployment


@pytest.mark.timeout(300)
def test_a_hundred_concurrent_episodes_are_isolated(
    small_deployment: DeploymentUnderLoad, record_property: Record
) -> None:
    _check_isolation(small_deployment, FEW, record_property)


@pytest.mark.timeout(300)
def test_abandoned_episodes_leave_nothing_behind(
    small_deployment: DeploymentUnderLoad, record_property: Record
) -> None:
    _check_nothing_is_left(small_deployment, FEW_ABANDONED, warm_up=FEW_BEFORE, wave=SMALL_WAVE, record=record_property)


@pytest.mark.load
@pytest.mark.timeout(LOAD_S)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_thousand_concurrent_episodes_are_isolated(tmp_path: Path, record_property: Record, workers: int) -> None:
    with deployment_under_load(tmp_path, workers=workers) as deployment:
        _check_isolation(deployment, MANY, record_property)


@pytest.mark.load
@pytest.mark.timeout(LOAD_S)
def test_ten_thousand_abandoned_episodes_leave_nothing_behind(tmp_path: Path, record_property: Record) -> None:
    with deployment_under_load(tmp_path, DETACHED) as deployment:
        _check_nothing_is_left(deployment, MANY_ABANDONED, warm_up=MANY_BEFORE, wave=LARGE_WAVE, record=record_property)


@pytest.mark.load
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("stop_signal", [signal.SIGSTOP, signal.SIGKILL])
def test_the_slots_of_many_clients_that_disappear_at_once_are_released_in_time(
    tmp_path: Path, record_property: Record, stop_signal: signal.Signals, workers: int
) -> None:
    with deployment_under_load(tmp_path, QUICK_PINGS, workers=workers) as deployment:
        with client_process(*_SOCKETS, deployment.socket_url, str(CLIENTS)) as clients:
            clients.send_signal(stop_signal)
            began = time.monotonic()
            deployment.wait_for(lambda level: level.slots == 0, SLOT_BACK_S)
        record_property(
            f"{CLIENTS} clients {stop_signal.name}, seconds until their slots are back",
            f"{time.monotonic() - began:.1f}",
        )


@pytest.mark.load
def test_the_slots_of_three_hundred_idle_sessions_are_released(tmp_path: Path, record_property: Record) -> None:
    with deployment_under_load(tmp_path, IDLE) as deployment:
        for turn in ("first", "second"):
            with client_process(*_SOCKETS, deployment.socket_url, str(SESSIONS)):
                began = time.monotonic()
                deployment.wait_for(lambda level: level.slots == level.live == 0, IDLE_S + REAPED_S)
            took_s = time.monotonic() - began
            record_property(
                f"{SESSIONS} idle sessions, {turn} time, seconds until their slots are back", f"{took_s:.1f}"
            )
