"""The simulation repeats a seed exactly, finds no violation, and finds planted defects."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from companyos_gateway.engine.errors import ServicesUnavailableError
from companyos_gateway.engine.snapshots import Snapshots
from verification.defects import SIMULATION_DEFECTS
from verification.simulation.history import play
from verification.simulation.network import Listener, Network
from verification.simulation.scheduler import Scheduler

pytestmark = [pytest.mark.matrix, pytest.mark.filterwarnings("ignore::ResourceWarning"), pytest.mark.timeout(300)]

SEEDS = range(100)
DEFECT_SEEDS = range(60)
DEFECTS_FOUND_AT_ONCE = (
    "generations-are-not-checked",
    "a-start-deletes-what-it-cannot-explain",
    "an-intent-is-forgotten",
    "op-ids-are-ignored",
    "old-epochs-are-served",
    "a-restore-forgets-one-service",
    "a-snapshot-does-not-wait-for-its-turn",
    "a-live-file-is-copied",
    "forks-share-an-episode",
    "outcomes-are-not-journalled",
)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_no_history_loses_duplicates_tears_or_resurrects_data() -> None:
    found = [play(seed) for seed in SEEDS]
    assert [(result.seed, result.violation) for result in found if result.violation] == []


@pytest.mark.integration
def test_a_seed_is_reproducible_in_a_new_process() -> None:
    command = [sys.executable, "-m", "verification.simulation", "--seed", "7"]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout


@pytest.mark.parametrize("defect", DEFECTS_FOUND_AT_ONCE)
def test_a_planted_defect_is_detected(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    SIMULATION_DEFECTS[defect](monkeypatch)
    assert any(play(seed).violation for seed in DEFECT_SEEDS)


@pytest.mark.parametrize("operation", ["restore", "fork"])
def test_a_refusal_without_any_fault_is_a_violation(operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_arguments: object) -> None:
        raise ServicesUnavailableError

    monkeypatch.setattr(Snapshots, operation, refuse)
    assert play(0).violation.startswith("stuck")


def test_a_request_in_flight_fails_when_its_service_is_killed() -> None:
    scheduler = Scheduler(1)
    network = Network(scheduler, note=lambda _line: None)
    client, service = scheduler.spawn("client"), scheduler.spawn("service")

    async def never_respond(_scope: Scope, _receive: Receive, _send: Send) -> None:
        await asyncio.Event().wait()

    network.listeners["service"] = Listener(service, never_respond)
    http = httpx.AsyncClient(transport=network.transport(client, "service"), base_url="http://service")
    request = client.start(lambda: http.get("/"))
    assert not scheduler.run(lambda: request.is_over, seconds=1.0)
    service.kill()
    assert scheduler.run(lambda: request.is_over, seconds=1.0)
    assert isinstance(request.error(), httpx.ReadError)
    scheduler.end()
