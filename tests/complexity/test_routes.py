"""No request's processing time grows faster than its size, whatever its content and route."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from companyos.contract import ResetOptions
from companyos_gateway.runtime import GatewayRuntime
from companyos_shared.framework import Service, ServiceSettings, create_app
from companyos_shared.wire import strict_json
from tests.complexity.asgi_requests import send_request
from tests.complexity.conftest import LIVE
from tests.complexity.growth import Growth
from tests.complexity.inputs import BODIES
from tests.complexity.routes import Target, targets_of
from tests.contract.conftest import SERVICES
from tests.promises.measurements import Measurements

FULL_S = 3_600

pytestmark = [pytest.mark.matrix, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]
"""Event streams are abandoned midway and closed by the garbage collector."""


async def _measure(growth: Growth, target: Target, *, full: bool) -> None:
    for name, request in target.requests(full=full):
        await growth.measure(f"{target.method} {target.path}, {name}", request)


async def _measure_gateway(app: FastAPI, runtime: GatewayRuntime, *, full: bool) -> Growth:
    growth, store = Growth(), runtime.engine().store
    for target in targets_of(app, {"episode_id": LIVE, "name": LIVE, "env_name": "companyos", "service": "ticketdesk"}):
        await _measure(growth, target, full=full)
        if not store.has(LIVE):
            await runtime.reset(ResetOptions(episode_id=LIVE, seed=1))
    return growth


async def _measure_service(service: Service[Any], folder: Path, *, full: bool) -> Growth:
    growth = Growth()
    app = create_app(service, ServiceSettings(service_key=None, service_key_file=None, data_dir=folder))
    async with app.router.lifespan_context(app):
        for target in targets_of(app, {}):
            await _measure(growth, target, full=full)
    return growth


def _check(growth: Growth, name: str, figures: Measurements) -> None:
    figures.record(f"{name}: worst time of an input", growth.described())
    assert growth.superlinear == []


@pytest.mark.timeout(FULL_S)
async def test_requests_to_the_gateway_take_linear_time(
    gateway: tuple[FastAPI, GatewayRuntime], figures: Measurements
) -> None:
    _check(await _measure_gateway(*gateway, full=False), "gateway", figures)


@pytest.mark.timeout(FULL_S)
@pytest.mark.parametrize("name", sorted(SERVICES))
async def test_requests_to_a_service_take_linear_time(name: str, tmp_path: Path, figures: Measurements) -> None:
    _check(await _measure_service(SERVICES[name], tmp_path, full=False), name, figures)


@pytest.mark.load
@pytest.mark.timeout(FULL_S)
async def test_all_requests_to_the_gateway_take_linear_time(
    gateway: tuple[FastAPI, GatewayRuntime], figures: Measurements
) -> None:
    _check(await _measure_gateway(*gateway, full=True), "gateway", figures)


@pytest.mark.load
@pytest.mark.timeout(FULL_S)
@pytest.mark.parametrize("name", sorted(SERVICES))
async def test_all_requests_to_a_service_take_linear_time(name: str, tmp_path: Path, figures: Measurements) -> None:
    _check(await _measure_service(SERVICES[name], tmp_path, full=True), name, figures)


async def test_a_parser_that_takes_quadratic_time_is_detected(
    gateway: tuple[FastAPI, GatewayRuntime], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strict_json, "_STRING", re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL))
    growth = Growth(small_bytes=1024, large_bytes=8 * 1024)
    path = f"/v1/episodes/{LIVE}/step".encode()
    body = BODIES["an open string behind brackets"]
    await growth.measure("a step", lambda size: send_request(gateway[0], "POST", path, body=body(size)))
    assert growth.superlinear
