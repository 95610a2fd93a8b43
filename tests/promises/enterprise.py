"""The whole enterprise in one process and one folder: real services, real files, and a gateway that can be killed."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from contextlib import closing
from enum import Enum, auto
from functools import cache
from hashlib import sha256
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
from companyos_shared.framework.database import epoch_files
from companyos_shared.framework.episodes import Episodes
from companyos_shared.wire.context import CONTEXT_HEADER
from tests.promises import demo_scenario
from tests.promises.model import MARK, Row
from verification.in_process import installed_services
from verification.simulation.deployment import Engine

KEY = "a key for tests"
SECRET = bytes(32)
MARKED = (
    ("ticketdesk", "tickets", "title"),
    ("ticketdesk", "comments", "body"),
    ("datahub", "data_issues", "description"),
    ("approvalflow", "requests", "subject"),
    ("approvalflow", "notes", "body"),
)
YIELDS_OF_A_SLOW_ANSWER = 40


class NetworkFault(Enum):
    """Fault of the next call's connection."""

    REQUEST_LOST = auto()
    ANSWER_LOST = auto()
    ANSWER_SLOW = auto()
    HANGS_BEFORE = auto()
    HANGS_AFTER = auto()


class FaultyTransport(httpx.AsyncBaseTransport):
    """Transport to one service. It stores the agent's signed calls, so that they can be delivered again much later."""

    def __init__(self, app: FastAPI) -> None:
        self._inner = httpx.ASGITransport(app)
        self.fault: NetworkFault | None = None
        self.is_stuck = asyncio.Event()
        self.sent: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Deliver a call; as the fault says, lose it, lose its response, delay its response, or hang."""
        fault, self.fault = self.fault, None
        if not request.url.path.startswith("/control/"):
            self.sent.append(request)
        if fault is NetworkFault.REQUEST_LOST:
            raise httpx.ConnectError("lost")
        if fault is NetworkFault.HANGS_BEFORE:
            await self._hang()
        answer = await self._inner.handle_async_request(request)
        await answer.aread()
        if fault is NetworkFault.HANGS_AFTER:
            await self._hang()
        if fault is NetworkFault.ANSWER_LOST:
            raise httpx.ReadError("lost")
        if fault is NetworkFault.ANSWER_SLOW:
            self.is_stuck.set()
            for _ in range(YIELDS_OF_A_SLOW_ANSWER):
                await asyncio.sleep(0)
        return answer

    async def arrive(self, request: httpx.Request) -> int:
        """Deliver an earlier call again and return the status of its response."""
        answer = await self._inner.handle_async_request(request)
        await answer.aread()
        return answer.status_code

    async def _hang(self) -> None:
        self.is_stuck.set()
        await asyncio.Event().wait()


class Enterprise:
    """Three services and a gateway in one folder. Its methods about files read only the files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._gateway: Engine | None = None
        self._renewing: set[asyncio.Task[Any]] = set()
        self.transports = {name: FaultyTransport(_app(name)) for name in demo_scenario.SERVICES}
        for name in demo_scenario.SERVICES:
            self.restart_service(name)

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

    def restart_service(self, name: str) -> None:
        """Clear a service's memory, as if its process had been restarted.

        This includes its memory of dropped episodes, so their recorded calls are discarded, too.
        """
        live = {episode.internal_id for episode in self.episodes()}
        wire = self.transports[name]
        wire.sent = [call for call in wire.sent if json.loads(call.headers[CONTEXT_HEADER])["episode"] in live]
        episodes: Episodes = _app(name).state.episodes
        episodes.close()
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        Episodes.__init__(
            episodes, episodes.service, folder, max_open=_MAX_OPEN, max_template_bytes=_MAX_TEMPLATE_BYTES
        )

    async def start_gateway(self) -> int:
        """Start a gateway that restores its state from the files alone; return the number of restored episodes."""
        clients = {
            name: ServiceClient(name, f"http://{name}", KEY.encode(), wire) for name, wire in self.transports.items()
        }
        service_clients = ServiceClients(clients)
        before = asyncio.all_tasks()
        await service_clients.lease(derive_owner(SECRET))
        self._renewing = asyncio.all_tasks() - before
        scenario = demo_scenario.DemoScenario()
        self._gateway = Engine.on(self._folder / "gateway", service_clients, scenario, _toolbox())
        return await self._gateway.recovery.run()

    async def kill_gateway(self) -> None:
        """Stop the gateway immediately: unfinished work is cancelled, and nothing is cleaned up."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for episode in self.episodes():
            episode.journal.close()
        for wire in self.transports.values():
            wire.fault = None
            wire.is_stuck.clear()

    async def is_stuck(self, work: asyncio.Task[Any]) -> bool:
        """Wait until a call of some work hangs or the work is done; return whether a call hangs."""
        stuck = [asyncio.create_task(wire.is_stuck.wait()) for wire in self.transports.values()]
        await asyncio.wait([work, *stuck], return_when=asyncio.FIRST_COMPLETED)
        for waiting in stuck:
            waiting.cancel()
        for wire in self.transports.values():
            wire.is_stuck.clear()
        return not work.done()

    async def begin_from(self, snapshot_id: str, label: str, previous: Episode | None) -> None:
        """Fork a snapshot, replacing a previous episode if given, and wait until its removal is complete."""
        await self.snapshots.fork(snapshot_id, 1, label, previous)
        await self._quiet()

    async def free(self, episode: Episode) -> None:
        """Drop an episode, and wait until its removal is complete."""
        self.engine.store.free(episode)
        await self._quiet()

    async def _quiet(self) -> None:
        while others := asyncio.all_tasks() - self._renewing - {asyncio.current_task()}:
            await asyncio.wait(others)

    def marked_rows(self, episode: Episode) -> Counter[Row]:
        """Return every marked row in the databases of an episode, or in the snapshot that it starts from."""
        file = self._folder / "gateway" / "episodes" / episode.internal_id / "manifest.json"
        manifest = json.loads(file.read_text())["manifest"]
        found: Counter[Row] = Counter()
        for service, table, column in MARKED:
            path = self._database(service, manifest)
            for text in _texts(path, table, column) if path else ():
                found[(service, table, text)] += 1
        return found

    def has_opened(self, service: str, episode: Episode) -> bool:
        """Return whether a service has begun the epoch of the episode."""
        return episode.epoch in epoch_files(self._folder / service / "episodes" / episode.internal_id)

    def episode_folders(self) -> dict[str, set[str]]:
        """Return the internal ids of the episode folders by process."""
        found = {"gateway", *demo_scenario.SERVICES}
        return {name: {path.name for path in (self._folder / name / "episodes").glob("*")} for name in found}

    def fingerprints(self) -> dict[str, str]:
        """Return the digest of every file in the folders of snapshots."""
        found = self._folder.glob("*/snapshots/*")
        return {str(path.relative_to(self._folder)): sha256(path.read_bytes()).hexdigest() for path in found}

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

    def _database(self, service: str, manifest: dict[str, Any]) -> Path | None:
        folder = self._folder / service
        opened = epoch_files(folder / "episodes" / manifest["internal_id"]).get(manifest["epoch"])
        snapshot = folder / "snapshots" / f"{manifest['sources'][service]}.db"
        return opened or (snapshot if snapshot.exists() else None)


_MAX_OPEN = 64
_MAX_TEMPLATE_BYTES = 2**26


def _texts(path: Path, table: str, column: str) -> list[str]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        query = f"SELECT {column} FROM {table} WHERE {column} LIKE '{MARK}%'"  # noqa: S608 - names of this module
        return [str(text) for (text,) in db.execute(query)]


@cache
def _app(name: str) -> FastAPI:
    """Return the app of a service; the current enterprise sets the folder of its episodes."""
    settings = ServiceSettings(service_key=SecretStr(KEY), service_key_file=None)
    return create_app(installed_services()[name], settings)


@cache
def _toolbox() -> Toolbox:
    return build_toolbox({name: _app(name).openapi() for name in demo_scenario.SERVICES}, {"type": "object"})
