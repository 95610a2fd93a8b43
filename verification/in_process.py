"""Services, and gateways with services, in one process."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from pydantic import SecretStr

from companyos_gateway.engine.service_client import ServiceClient
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.settings import Settings
from companyos_shared.framework import Service, ServiceSettings, create_app

KEY = "a key of one process"

Wrap = Callable[[httpx.AsyncBaseTransport], httpx.AsyncBaseTransport]
"""Wraps the transport to a service, for example to inject faults."""

_documents: dict[int, tuple[Service[Any], dict[str, Any]]] = {}
"""OpenAPI documents by `id()` of the service. The service is stored too, so that its id is not reused."""


def service_app(service: Service[Any], folder: Path) -> FastAPI:
    """Return a new app of a service with files in a folder; its OpenAPI document is generated once per service."""
    app = create_app(service, ServiceSettings(service_key=SecretStr(KEY), service_key_file=None, data_dir=folder))
    if id(service) not in _documents:
        _documents[id(service)] = service, app.openapi()
    _, app.openapi_schema = _documents[id(service)]
    return app


def in_process_service_client(name: str, app: FastAPI, wrap: Wrap = lambda way: way) -> ServiceClient:
    """Return the gateway's client for a service's app."""
    return ServiceClient(name, f"http://{name}", KEY.encode(), wrap(httpx.ASGITransport(app)))


@cache
def installed_services() -> dict[str, Service[Any]]:
    """Return the installed services by name: the `SERVICE` of each module that an entry point names."""
    modules = {one.name: one.value.partition(":")[0] for one in entry_points(group="companyos.services")}
    return {name: importlib.import_module(module).SERVICE for name, module in modules.items()}


@contextmanager
def in_process_service_clients(folder: Path) -> Iterator[ServiceClients]:
    """Yield clients for the installed services, which store their files below a folder."""
    apps = {name: service_app(service, folder / name) for name, service in installed_services().items()}
    try:
        yield ServiceClients({name: in_process_service_client(name, app) for name, app in apps.items()})
    finally:
        for app in apps.values():
            app.state.episodes.close()


@asynccontextmanager
async def in_process_runtime(folder: Path) -> AsyncIterator[GatewayRuntime]:
    """Run a gateway and the installed services in this process; the services store their files below a folder."""
    with in_process_service_clients(folder) as service_clients:
        runtime = GatewayRuntime(Settings(), service_clients=service_clients)
        async with runtime.running():
            yield runtime
