"""Arguments of tools are validated in linear time, whatever their content; the tools are discovered."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import orjson
import pytest
from fastapi import FastAPI

from companyos_gateway.engine.toolbox import InvalidArgumentsError, Tool
from companyos_gateway.runtime import GatewayRuntime
from tests.complexity.growth import Growth
from tests.complexity.inputs import MEMBERS, TEXTS
from tests.promises.measurements import Measurements

pytestmark = pytest.mark.matrix

_UNITS = {
    **{name: TEXTS[name](64).decode() for name in ("letters", "digits", "spaces", "at signs", "hyphens")},
    "letters and at signs": "a@",
    "a last space": " a",
}


async def test_arguments_of_every_tool_take_linear_time(
    gateway: tuple[FastAPI, GatewayRuntime], figures: Measurements
) -> None:
    growth = Growth()
    for tool in gateway[1].engine().toolbox:
        for name in tool.input_schema["properties"]:
            for described, unit in _UNITS.items():
                await growth.measure(f"{tool.name}, {name} of {described}", _checked(tool, name, unit))
            for kind, (before, one, after) in MEMBERS.items():
                await growth.measure(f"{tool.name}, {name} of {kind}", _checked_json(tool, name, before, one, after))
    figures.record("arguments of tools: worst time", growth.described())
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
