"""The processing time of messages on the gateway's sockets grows with their size, whatever their content."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from starlette.routing import WebSocketRoute

from companyos_gateway.runtime import GatewayRuntime
from tests.complexity.growth import Growth
from tests.complexity.inputs import BODIES, MEMBERS, Input, repeated
from tests.gateway.sockets import Socket, connected
from tests.promises.measurements import Measurements

pytestmark = pytest.mark.matrix

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
    gateway: tuple[FastAPI, GatewayRuntime], figures: Measurements
) -> None:
    app, growth = gateway[0], Growth()
    paths = _sockets(app)
    assert paths
    for path in paths:
        for name, made in _inputs().items():
            async with connected(app, path) as socket:
                await growth.measure(f"{path}, {name}", _asked(socket, made))
    figures.record("messages on sockets: worst time", growth.described())
    assert growth.superlinear == []


def _asked(socket: Socket, made: Input) -> Any:
    async def run(size: int) -> None:
        await socket.exchange(made(size).decode())

    return run
