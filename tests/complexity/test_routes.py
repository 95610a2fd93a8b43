"""No request's processing time grows faster than its size, whatever its content and route."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi import FastAPI
from starlette.routing import WebSocketRoute

from companyos.contract import ResetOptions
from companyos_gateway.engine.toolbox import InvalidArgumentsError, Tool
from companyos_gateway.runtime import GatewayRuntime
from companyos_shared.framework import ServiceSettings, create_app
from companyos_shared.wire import strict_json
from tests.complexity.conftest import LIVE
from tests.complexity.growth import Growth
from tests.complexity.inputs import BODIES, MEMBERS, TEXTS, Input, repeated
from tests.complexity.routes import Target, send_request, targets_of
from tests.contract.conftest import SERVICES
from tests.gateway.sockets import Socket, connected
from tests.promises.conftest import Record

FULL_S = 3_600
EXTENTS = pytest.mark.parametrize("full", [False, pytest.param(True, marks=pytest.mark.load)], ids=["few", "all"])
"""Few or all inputs for each part of a request; with all of them, the tests are load tests."""

pytestmark = [pytest.mark.matrix, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]
"""Event streams are abandoned midway and closed by the garbage collector."""


async def _measure(growth: Growth, target: Target, *, full: bool) -> None:
    for name, request in target.requests(full=full):
        await growth.measure(f"{target.method} {target.path}, {name}", request)


def _check(growth: Growth, name: str, record: Record) -> None:
    record(f"{name}: worst time of an input", growth.described())
    assert growth.superlinear == []


@EXTENTS
@pytest.mark.timeout(FULL_S)
async def test_requests_to_the_gateway_take_linear_time(
    gateway: tuple[FastAPI, GatewayRuntime], record_property: Record, full: bool
) -> None:
    app, runtime = gateway
    growth, store = Growth(), runtime.engine().store
    for target in targets_of(app, {"episode_id": LIVE, "name": LIVE, "env_name": "companyos", "service": "ticketdesk"}):
        await _measure(growth, target, full=full)
        if not store.has(LIVE):
            await runtime.reset(ResetOptions(episode_id=LIVE, seed=1))
    _check(growth, "gateway", record_property)


@EXTENTS
@pytest.mark.timeout(FULL_S)
@pytest.mark.parametrize("name", sorted(SERVICES))
async def test_requests_to_a_service_take_linear_time(
    name: str, tmp_path: Path, record_property: Record, full: bool
) -> None:
    growth = Growth()
    app = create_app(SERVICES[name], ServiceSettings(service_key=None, service_key_file=None, data_dir=tmp_path))
    async with app.router.lifespan_context(app):
        for target in targets_of(app, {}):
            await _measure(growth, target, full=full)
    _check(growth, name, record_property)


async def test_a_parser_that_takes_quadratic_time_is_detected(
    gateway: tuple[FastAPI, GatewayRuntime], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strict_json, "_STRING", re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL))
    growth = Growth(small_bytes=1024, large_bytes=8 * 1024)
    path = f"/v1/episodes/{LIVE}/step".encode()
    body = BODIES["an open string behind brackets"]
    await growth.measure("a step", lambda size: send_request(gateway[0], "POST", path, body=body(size)))
    assert growth.superlinear


_MESSAGES = ("type", "data", "method", "params", "id")


def _inputs() -> dict[str, Input]:
    found = dict(BODIES)
    for kind, (before, unit, after) in MEMBERS.items():
        for name in _MESSAGES:
            found[f"{name} of {kind}"] = repeated(unit, f'{{"{name}":'.encode() + before, after + b"}")
        for request in ("reset", "step", "mcp", "state"):
            opening = f'{{"type":"{request}","data":{{"tool_name":'.encode()
            found[f"{request} of {kind}"] = repeated(unit, opening + before, after + b"}}")
    return found


def _sockets(app: FastAPI) -> list[str]:
    found = (getattr(route, "original_route", route) for route in app.router.routes)
    return [route.path for route in found if isinstance(route, WebSocketRoute)]


async def test_messages_on_every_socket_take_linear_time(
    gateway: tuple[FastAPI, GatewayRuntime], record_property: Record
) -> None:
    app, growth = gateway[0], Growth()
    paths = _sockets(app)
    assert paths
    for path in paths:
        for name, made in _inputs().items():
            async with connected(app, path) as socket:
                await growth.measure(f"{path}, {name}", _asked(socket, made))
    record_property("messages on sockets: worst time", growth.described())
    assert growth.superlinear == []


def _asked(socket: Socket, made: Input) -> Any:
    async def run(size: int) -> None:
        await socket.exchange(made(size).decode())

    return run


_UNITS = {
    **{name: TEXTS[name](64).decode() for name in ("letters", "digits", "spaces", "at signs", "hyphens")},
    "letters and at signs": "a@",
    "a last space": " a",
}


async def test_arguments_of_every_tool_take_linear_time(
    gateway: tuple[FastAPI, GatewayRuntime], record_property: Record
) -> None:
    growth = Growth()
    for tool in gateway[1].engine().toolbox:
        for name in tool.input_schema["properties"]:
            for described, unit in _UNITS.items():
                await growth.measure(f"{tool.name}, {name} of {described}", _checked(tool, name, unit))
            for kind, (before, one, after) in MEMBERS.items():
                await growth.measure(f"{tool.name}, {name} of {kind}", _checked_json(tool, name, before, one, after))
    record_property("arguments of tools: worst time", growth.described())
    assert growth.superlinear == []


def _checked(tool: Tool, name: str, unit: str) -> Any:
    async def run(size: int) -> None:
        for last in ("", " "):
            with suppress(InvalidArgumentsError):
                tool.check({name: unit * (size // len(unit)) + last})

    return run


def _checked_json(tool: Tool, name: str, before: bytes, unit: bytes, after: bytes) -> Any:
    async def run(size: int) -> None:
        with suppress(InvalidArgumentsError):
            tool.check({name: orjson.loads(before + unit * (size // len(unit)) + after)})

    return run
