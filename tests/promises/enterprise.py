"""The whole enterprise in one process and one folder: real services, real files, and a gateway that can be killed."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from pydantic import SecretStr

from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.leases import derive_owner
from companyos_gateway.engine.quarantine import Quarantine
from companyos_gateway.engine.service_client import ServiceClient
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.engine.snapshots import Snapshots
from companyos_gateway.engine.toolbox import Toolbox, build_toolbox
from companyos_shared.framework import ServiceSettings, create_app
from companyos_shared.framework.episodes import Episodes
from tests.promises import demo_scenario
from verification.in_process import installed_services
from verification.simulation.deployment import Engine

KEY = "a key for tests"
SECRET = bytes(32)
_MAX_OPEN = 64
_MAX_TEMPLATE_BYTES = 2**26


class HangingTransport(httpx.AsyncBaseTransport):
    """Transport to one service. If `hangs` is set, the responses of the service are never delivered."""

    def __init__(self, app: FastAPI) -> None:
        self._inner = httpx.ASGITransport(app)
        self.hangs = False
        self.is_stuck = asyncio.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Deliver a call, and return its response or hang."""
        response = await self._inner.handle_async_request(request)
        if self.hangs:
            self.is_stuck.set()
            await asyncio.Event().wait()
        return response


class Enterprise:
    """Three services and a gateway in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._gateway: Engine | None = None
        self._renewing: set[asyncio.Task[Any]] = set()
        self.transports = {name: HangingTransport(_app(name)) for name in demo_scenario.SERVICES}
        for name in demo_scenario.SERVICES:
            (folder / name).mkdir(exist_ok=True)
            episodes: Episodes = _app(name).state.episodes
            Episodes.__init__(
                episodes, episodes.service, folder / name, max_open=_MAX_OPEN, max_template_bytes=_MAX_TEMPLATE_BYTES
            )

    @property
    def engine(self) -> EpisodeEngine:
        """The gateway's episode engine."""
        return self._started().episode_engine

    @property
    def snapshots(self) -> Snapshots:
        """The gateway's snapshots."""
        return self._started().snapshots

    @property
    def quarantine(self) -> Quarantine:
        """The gateway's quarantine."""
        return self._started().quarantine

    def _started(self) -> Engine:
        assert self._gateway is not None
        return self._gateway

    def episodes(self) -> list[Episode]:
        """Return the live episodes."""
        return [] if self._gateway is None else list(self.engine.store)

    async def start_gateway(self) -> None:
        """Start a gateway that restores its state from the files alone."""
        clients = {
            name: ServiceClient(name, f"http://{name}", KEY.encode(), wire) for name, wire in self.transports.items()
        }
        service_clients = ServiceClients(clients)
        before = asyncio.all_tasks()
        await service_clients.lease(derive_owner(SECRET))
        self._renewing = asyncio.all_tasks() - before
        scenario = demo_scenario.DemoScenario()
        self._gateway = Engine.on(self._folder / "gateway", service_clients, scenario, _toolbox())
        await self._gateway.recovery.run()

    async def kill_gateway(self) -> None:
        """Stop the gateway immediately: unfinished work is cancelled, and nothing is cleaned up."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for episode in self.episodes():
            episode.journal.close()

    async def free(self, episode: Episode) -> None:
        """Drop an episode, and wait until its removal is complete."""
        self.engine.store.free(episode)
        while others := asyncio.all_tasks() - self._renewing - {asyncio.current_task()}:
            await asyncio.wait(others)

    def files_of_snapshot(self, snapshot_id: str) -> set[str]:
        """Return the names of the files that a snapshot needs; a service without changes has none."""
        name = f"gateway/snapshots/{snapshot_id}.jsonl"
        manifest = json.loads((self._folder / name).read_bytes().partition(b"\n")[0])["manifest"]
        kept = manifest["sources"].items() - manifest["planned"].items()
        return {name} | {f"{service}/snapshots/{source}.db" for service, source in kept}

    def close(self) -> None:
        """Close every database."""
        for name in self.transports:
            _app(name).state.episodes.close()


@cache
def _app(name: str) -> FastAPI:
    """Return the app of a service; the current enterprise sets the folder of its episodes."""
    settings = ServiceSettings(service_key=SecretStr(KEY), service_key_file=None)
    return create_app(installed_services()[name], settings)


@cache
def _toolbox() -> Toolbox:
    return build_toolbox({name: _app(name).openapi() for name in demo_scenario.SERVICES}, {"type": "object"})
