"""Fixtures: a gateway over the real services, and the standalone services, all in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fastapi import FastAPI

from companyos.contract import ResetOptions
from companyos_gateway.app import create_app
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.settings import Settings
from tests.promises.conftest import pytest_terminal_summary
from verification.in_process import in_process_service_clients

__all__ = ["pytest_terminal_summary"]

LIVE = "live"
"""The id of the episode for requests that name one."""


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[tuple[FastAPI, GatewayRuntime]]:
    """Provide a gateway with one live episode."""
    with in_process_service_clients(tmp_path) as service_clients:
        runtime = GatewayRuntime(Settings(web=True, data_dir=tmp_path / "gateway"), service_clients=service_clients)
        app = create_app(runtime)
        async with app.router.lifespan_context(app):
            await runtime.reset(ResetOptions(episode_id=LIVE, seed=1))
            yield app, runtime
