"""A simulated deployment: service and gateway processes with real folders on one simulated machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic import SecretStr

from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.episode_files import EpisodeFiles
from companyos_gateway.engine.leases import derive_owner
from companyos_gateway.engine.quarantine import Quarantine
from companyos_gateway.engine.recovery import Recovery
from companyos_gateway.engine.service_client import ServiceClient
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.engine.snapshot_files import SnapshotFiles
from companyos_gateway.engine.snapshots import Snapshots
from companyos_gateway.engine.store import EpisodeLimits, EpisodeStore
from companyos_gateway.engine.task_cache import TaskCache
from companyos_gateway.engine.tokens import EpisodeTokens
from companyos_gateway.engine.toolbox import Toolbox
from companyos_shared.framework import ServiceSettings, create_app
from companyos_shared.framework.authentication import ReplayProtection
from companyos_shared.framework.database import Database
from companyos_shared.framework.episodes import Episodes
from verification.simulation.machine import Machine
from verification.simulation.network import Listener, Network
from verification.simulation.scheduler import Operation, Process
from verification.simulation.service import KEY, SERVICE_DEFINITIONS, SERVICES, EntriesScenario, toolbox

_LIMITS = EpisodeLimits(max_episodes=64, idle_s=3600, detached_s=60, lifetime_s=86400)
_STEP_TIMEOUT_S = 5.0
_MAX_OPEN = 64
_MAX_TEMPLATE_BYTES = 2**26


@dataclass
class Gateway:
    """A gateway process. Its engine may be used once `started` is over."""

    process: Process
    episode_engine: EpisodeEngine
    snapshots: Snapshots
    started: Operation[int]


class Apps:
    """A pool of service apps, which are reused because creating one is slow."""

    def __init__(self) -> None:
        self._free: dict[str, list[FastAPI]] = {name: [] for name in SERVICES}

    def prepare(self) -> None:
        """Create the shared parts outside any history."""
        toolbox()
        for service in SERVICE_DEFINITIONS.values():
            Database(service.metadata)._blank()  # kept for the process

    def take(self, name: str) -> FastAPI:
        """Take an app from the pool, or create one."""
        if self._free[name]:
            return self._free[name].pop()
        settings = ServiceSettings(service_key=SecretStr(KEY), service_key_file=None)
        return create_app(SERVICE_DEFINITIONS[name], settings)

    def give_back(self, name: str, app: FastAPI) -> None:
        """Return the app of an ended process to the pool."""
        self._free[name].append(app)


APPS = Apps()


class Deployment:
    """The service processes by name, and functions that start services and gateways."""

    def __init__(self, machine: Machine, network: Network) -> None:
        self.machine = machine
        self.network = network
        self.services: dict[str, Process] = {}
        self._apps: list[tuple[str, FastAPI]] = []
        self._mounts = machine.disk.folder.parent / "mounts"
        self._mounts.mkdir(exist_ok=True)

    def start_service(self, name: str) -> Operation[None]:
        """Start a service process. An existing one continues to run."""
        process = self._spawn(name)
        app = APPS.take(name)
        self._apps.append((name, app))
        folder = self._mount(process, name)

        async def start() -> None:
            episodes: Episodes = app.state.episodes
            Episodes.__init__(
                episodes, episodes.service, folder, max_open=_MAX_OPEN, max_template_bytes=_MAX_TEMPLATE_BYTES
            )
            replay_protection: Any = app.user_middleware[0].kwargs["replay_protection"]
            ReplayProtection.__init__(replay_protection)
            self.network.listeners[name] = Listener(process, app)

        self.services[name] = process
        return process.start(start)

    def start_gateway(self, folder: str = "gateway", *, take_over: bool = False) -> Gateway:
        """Start a gateway that reads its state only from its files."""
        process = self._spawn(folder)
        place = self._mount(process, folder)
        clients = {
            name: ServiceClient(name, f"http://{name}", KEY.encode(), self.network.transport(process, name))
            for name in SERVICES
        }
        service_clients = ServiceClients(clients)
        service_clients.set_step_timeout(_STEP_TIMEOUT_S)
        engine = Engine.on(place, service_clients, EntriesScenario(), toolbox())

        async def start() -> int:
            await service_clients.lease(derive_owner(folder.encode()), take_over=take_over)
            return await engine.recovery.run()

        return Gateway(process, engine.episode_engine, engine.snapshots, process.start(start))

    def close(self) -> None:
        """End every process and release its resources."""
        self.machine.scheduler.end()
        for name, app in self._apps:
            episodes: Episodes = app.state.episodes
            episodes._open.clear()
            APPS.give_back(name, app)

    def _spawn(self, name: str) -> Process:
        scheduler = self.machine.scheduler
        return scheduler.spawn(f"{name}#{1 + sum(process.name.startswith(name) for process in scheduler.processes)}")

    def _mount(self, process: Process, name: str) -> Path:
        """Return a path to a process's folder that becomes invalid when the process dies."""
        mount, folder = self._mounts / process.name, self.machine.disk.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        mount.symlink_to(folder)
        process.on_death.append(lambda: os.unlink(mount))
        return mount


@dataclass
class Engine:
    """A gateway's engine on a folder, not yet started."""

    episode_engine: EpisodeEngine
    snapshots: Snapshots
    quarantine: Quarantine
    recovery: Recovery

    @classmethod
    def on(cls, folder: Path, service_clients: ServiceClients, scenario: Any, toolbox: Toolbox) -> Engine:
        """Return the engine of a folder, for one scenario."""
        files, snapshot_files = EpisodeFiles(folder), SnapshotFiles(folder)
        quarantine = Quarantine(folder, service_clients, files, snapshot_files)
        tokens = EpisodeTokens(bytes(32))
        store = EpisodeStore(service_clients, files, tokens, node="n1", limits=_LIMITS, quarantine=quarantine)
        task_cache = TaskCache({scenario.name: scenario}, service_clients, max_size=8)
        episode_engine = EpisodeEngine(service_clients, toolbox, task_cache, store)
        snapshots = Snapshots(service_clients, snapshot_files, files, quarantine, task_cache, store, max_snapshots=64)
        quarantine.has_label = store.has
        return cls(episode_engine, snapshots, quarantine, Recovery(episode_engine, files, snapshots, quarantine))
