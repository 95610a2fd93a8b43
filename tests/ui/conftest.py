"""Fixtures: a gateway and its three services in process, and an HTTP client that fills in forms."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from companyos_gateway.app import create_app
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.settings import Settings
from companyos_shared.serving import DRAIN_STATE
from tests.ui.http_browser import Browser
from verification.in_process import in_process_service_clients

OpenBrowser = Callable[..., AbstractAsyncContextManager[Browser]]


@asynccontextmanager
async def in_process(folder: Path, **settings: Any) -> AsyncIterator[Browser]:
    """Provide a browser on a new gateway whose services store their files in a folder."""
    with in_process_service_clients(folder) as service_clients:
        app = create_app(GatewayRuntime(Settings(**settings), service_clients=service_clients))
        desk = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://desk", follow_redirects=True)
        async with app.router.lifespan_context(app) as state, desk as client:
            assert state is not None
            yield Browser(client, app=app, drain=state[DRAIN_STATE])


@pytest.fixture
def open_browser(tmp_path: Path) -> OpenBrowser:
    """Return a function that opens a browser on a new gateway."""
    return partial(in_process, tmp_path)


@pytest.fixture
async def browser(open_browser: OpenBrowser) -> AsyncIterator[Browser]:
    """Provide a browser on a new gateway without authentication."""
    async with open_browser() as opened:
        yield opened
