"""One hostile client delays nobody: step times of many live sessions with and without it, in one run."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.promises.conftest import Record
from tests.promises.deployment_under_load import DeploymentUnderLoad, deployment_under_load
from tests.promises.load_players import Observations, Player, all_begun, client_process

SESSIONS = 500
STEPS_EVERY_S = 5.0
"""Interval between a session's steps, so that the gateway is busy but not overloaded."""
WINDOW_S, WINDOWS = 20.0, 3
MAX_DELAYED = 2.0
HOSTILE_S = 400.0
_READS = ("approvalflow_list_approvals", "ticketdesk_list_tickets", "datahub_list_metrics")

pytestmark = [pytest.mark.load, pytest.mark.integration, pytest.mark.timeout(HOSTILE_S)]


def p99(times: list[float]) -> float:
    """Return the 99th percentile."""
    return sorted(times)[int(0.99 * len(times))]


async def _step_for(players: list[Player], seconds: float) -> list[float]:
    """Let every player take its steps, spread evenly; return the duration of each step."""
    times: list[float] = []
    began = time.perf_counter()

    async def play(player: Player) -> None:
        await asyncio.sleep(STEPS_EVERY_S * player.number / len(players))
        while time.perf_counter() < began + seconds:
            sent = time.perf_counter()
            if player.seen.steps % 4:
                await player.call(_READS[player.seen.steps % 3], limit=3)
            else:
                await player.call("ticketdesk_add_comment", key=player.ticket, body=player.canary)
            times.append(time.perf_counter() - sent)
            await asyncio.sleep(max(0.0, STEPS_EVERY_S - times[-1]))

    await asyncio.gather(*(play(player) for player in players))
    return times


@contextmanager
def _hostile(deployment: DeploymentUnderLoad, episode: str, token: str) -> Iterator[None]:
    # A real client has its own processor; here it gets the processor time that the server and other clients leave.
    module = ("nice", "-n", "19", sys.executable, "-m", "tests.promises.hostile_client")
    with client_process(*module, str(urlsplit(deployment.url).port), episode, token) as client:
        yield
        assert client.poll() is None


async def _compared(deployment: DeploymentUnderLoad) -> tuple[list[list[float]], list[list[float]]]:
    """Return the step times without and with the hostile client, from alternating windows."""
    quiet, attacked = [], []
    async with aiohttp.ClientSession(trust_env=False) as http:
        async with http.post(f"{deployment.url}/v1/episodes", json={"seed": 1}) as answer:
            own = await answer.json()
        async with all_begun(deployment.url, deployment.socket_url, SESSIONS, Observations()) as players:
            await _step_for(players, WINDOW_S)
            for _ in range(WINDOWS):
                quiet.append(await _step_for(players, WINDOW_S))
                with _hostile(deployment, own["episode_id"], own["token"]):
                    attacked.append(await _step_for(players, WINDOW_S))
    return quiet, attacked


def test_a_hostile_client_does_not_delay_the_steps_of_others(tmp_path: Path, record_property: Record) -> None:
    with deployment_under_load(tmp_path) as deployment:
        quiet, attacked = asyncio.run(_compared(deployment))
    for name, windows in (("without", quiet), ("with", attacked)):
        times = sorted(chain(*windows))
        record_property(
            f"{SESSIONS} sessions, {len(times)} steps {name} a hostile client, ms",
            f"p50 {times[len(times) // 2] * 1000:.1f}, p99 {p99(times) * 1000:.1f}; "
            f"p99 of each window {', '.join(f'{p99(window) * 1000:.1f}' for window in windows)}",
        )
    ratio = median(map(p99, attacked)) / median(map(p99, quiet))
    record_property("  p99 of the middle window with it, as a ratio to that without it", f"{ratio:.2f}")
    assert ratio <= MAX_DELAYED
