"""A gateway in process over the three services in process, and a browser without a screen."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from companyos_gateway.episode.cluster import Cluster
from companyos_gateway.episode.link import ServiceLink
from companyos_gateway.server.app import create_app
from companyos_gateway.server.house import House
from companyos_gateway.settings import Settings
from companyos_shared.chassis import ServiceSettings
from companyos_shared.chassis import create_app as create_service
from companyos_shared.serving import DRAIN_STATE
from tests.apps.browsing import Browser

KEY = "a key for tests"

OpenBrowser = Callable[..., AbstractAsyncContextManager[Browser]]


@asynccontextmanager
async def in_process(folder: Path, **settings: Any) -> AsyncIterator[Browser]:
    """Give a browser on a new enterprise whose services keep their files below a folder."""
    links, services = {}, []
    for entry in entry_points(group="companyos.services"):
        service = importlib.import_module(entry.value.partition(":")[0]).SERVICE
        own = ServiceSettings(service_key=SecretStr(KEY), service_key_file=None, data_dir=folder / entry.name)
        services.append(create_service(service, own))
        transport = httpx.ASGITransport(services[-1])
        links[entry.name] = ServiceLink(entry.name, f"http://{entry.name}", KEY.encode(), transport)
    app = create_app(House(Settings(**settings), cluster=Cluster(links)))
    async with (
        app.router.lifespan_context(app) as state,
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://desk", follow_redirects=True) as client,
    ):
        assert state is not None
        yield Browser(client, app=app, drain=state[DRAIN_STATE])
    for one in services:
        one.state.episodes.close()


@pytest.fixture
def open_browser(tmp_path: Path) -> OpenBrowser:
    """Return a function that opens a browser on a new enterprise."""
    return partial(in_process, tmp_path)


@pytest.fixture
async def browser(open_browser: OpenBrowser) -> AsyncIterator[Browser]:
    """A browser on a new enterprise that asks for no token."""
    async with open_browser() as opened:
        yield opened
