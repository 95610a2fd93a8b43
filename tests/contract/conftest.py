"""Contract tests of all services, which are discovered from entry points."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from functools import cache
from importlib.metadata import entry_points
from typing import Any

import pytest

from companyos_gateway.engine.openapi_operations import Operation, parse_operations
from companyos_gateway.engine.toolbox import Tool, build_toolbox
from companyos_shared.framework import Service, create_app
from companyos_shared.framework.testing import ServiceHarness


def _service(value: str) -> Service[Any]:
    service = importlib.import_module(value.partition(":")[0]).SERVICE
    assert isinstance(service, Service)
    return service


SERVICES = {found.name: _service(found.value) for found in entry_points(group="companyos.services")}


@pytest.fixture(params=sorted(SERVICES))
def service(request: pytest.FixtureRequest) -> Service[Any]:
    return SERVICES[request.param]


@pytest.fixture
async def harness(service: Service[Any]) -> AsyncIterator[ServiceHarness]:
    async with ServiceHarness(service) as made:
        yield made


@pytest.fixture
def manifest(service: Service[Any]) -> dict[str, Any]:
    return _openapi_of(service.name)


@cache
def _openapi_of(name: str) -> dict[str, Any]:
    document: dict[str, Any] = create_app(SERVICES[name]).openapi()
    return document


@pytest.fixture
def operations(service: Service[Any], manifest: dict[str, Any]) -> list[Operation]:
    return list(parse_operations(service.name, manifest))


@pytest.fixture
def tools(service: Service[Any], manifest: dict[str, Any]) -> list[Tool]:
    return [tool for tool in build_toolbox({service.name: manifest}, {"type": "object"}) if tool.operation]


@pytest.fixture
def writes(tools: list[Tool]) -> list[Tool]:
    return [tool for tool in tools if tool.operation is not None and not tool.operation.is_read]
