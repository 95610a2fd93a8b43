"""A deployment under test: the gateway and its three services as four processes that can be killed and restarted."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import ClassVar

from verification.faults.gateway_client import GatewayClient
from verification.faults.proxy import FaultProxy
from verification.faults.server_process import HOST, ServerProcess, free_port

GATEWAY = "gateway"
SERVICES = ("ticketdesk", "datahub", "approvalflow")
PROCESSES = (GATEWAY, *SERVICES)
USUAL_START_S = 3.0
"""Usual start time in seconds. The excess of a longer start is attributed to the machine and extends deadlines."""

FAILPOINT = "COMPANYOS_FAILPOINT"
STEP_TIMEOUT_S = "5"
"""Step timeout in seconds; short, so that faults that outlast a step take little time."""


class Deployment:
    """Four processes on one data folder, started as compose does.

    `defect` names a defect of its processes, see `verification.defects`.
    """

    has_proxies: ClassVar[bool] = False

    def __init__(self, folder: Path, rng: Random, *, defect: str | None = None) -> None:
        self.environment: dict[str, str] = {}
        self.slow_starts_s = 0.0
        self._starting = 0
        self.folder = folder
        self.data = folder / "data"
        self.processes: dict[str, ServerProcess] = {}
        self.proxies: dict[str, FaultProxy] = {}
        self._rng = rng
        self._old_clients: list[GatewayClient] = []
        self._key = secrets.token_hex(32)
        self._entry = ["-m", "verification.faults.with_defect", defect] if defect else ["-m"]
        self.data.mkdir(parents=True)
        for name in SERVICES:
            self.processes[name] = self._service(name)
            if self.has_proxies:
                self.proxies[name] = FaultProxy(free_port(rng), self.processes[name].port)
        self.processes[GATEWAY] = self._gateway()
        self.client = GatewayClient(self.processes[GATEWAY].url)

    @classmethod
    def reason_not_to_run(cls) -> str | None:
        """Return the reason why this deployment is not possible on this machine, or None."""
        return None

    @property
    def data_folders(self) -> list[Path]:
        """The data folders of all gateways."""
        return [self.data]

    async def start(self) -> None:
        """Start everything; raises ServerStartError."""
        for proxy in self.proxies.values():
            await proxy.listen()
        await self.start_processes(list(self.processes))

    async def stop(self) -> None:
        """Kill all processes; their files remain."""
        for client in (*self._old_clients, self.client):
            await client.aclose()
        for proxy in self.proxies.values():
            await proxy.aclose()
        await asyncio.gather(*(process.kill() for process in self.processes.values() if process.is_running))

    async def kill(self, names: Iterable[str]) -> None:
        """Kill these processes at once."""
        await asyncio.gather(*(self.processes[name].kill() for name in names))

    async def start_processes(self, names: Sequence[str], **environment: str) -> None:
        """Start these processes on their files and wait until they are ready; raises ServerStartError."""
        variables = self.environment | environment
        async with self.starting():
            await asyncio.gather(*(self.processes[name].start(**variables) for name in names))
            await self.wait_until_ready(names)

    async def wait_until_ready(self, names: Sequence[str]) -> None:
        """Wait until these processes are ready, the services first; raises ServerStartError."""
        services = [name for name in names if name != GATEWAY]
        await asyncio.gather(*(self.processes[name].wait_until_ready() for name in services))
        if GATEWAY in names:
            await self.processes[GATEWAY].wait_until_ready()
            self._old_clients.append(self.client)
            self.client = GatewayClient(self.processes[GATEWAY].url)

    @asynccontextmanager
    async def starting(self) -> AsyncIterator[None]:
        """Mark processes as starting in the context, and add the time beyond a usual start to `slow_starts_s`."""
        clock = asyncio.get_running_loop().time
        began = clock()
        self._starting += 1
        try:
            yield
        finally:
            self._starting -= 1
            self.slow_starts_s += max(0.0, clock() - began - USUAL_START_S)

    @property
    def is_starting(self) -> bool:
        """Return whether started processes are not ready yet."""
        return self._starting > 0

    async def restart(self, names: Sequence[str], **environment: str) -> None:
        """Kill the running ones of these processes and start them again; raises ServerStartError."""
        await self.kill(name for name in names if self.processes[name].is_running)
        await self.start_processes(names, **environment)

    def log_tail(self) -> str:
        """Return the end of each process's log."""
        return "\n\n".join(f"== {name}\n{process.log_tail()}" for name, process in self.processes.items())

    def _service(self, name: str) -> ServerProcess:
        port = free_port(self._rng)
        app = [*self._entry, "uvicorn", f"companyos_{name}.main:app", "--host", HOST, "--port", str(port)]
        return ServerProcess(
            name,
            [*app, "--no-access-log", "--timeout-keep-alive", "120"],
            port=port,
            log=self.folder / f"{name}.log",
            environment={"COMPANYOS_SERVICE_KEY": self._key, "COMPANYOS_DATA_DIR": str(self.data)},
        )

    def _gateway(self) -> ServerProcess:
        port = free_port(self._rng)
        addresses = {name: self.proxies[name].url if self.proxies else self.processes[name].url for name in SERVICES}
        return ServerProcess(
            GATEWAY,
            [*self._entry, "companyos_gateway", "--host", HOST, "--port", str(port)],
            port=port,
            log=self.folder / "gateway.log",
            environment={
                "COMPANYOS_SERVICE_KEY": self._key,
                "COMPANYOS_DATA_DIR": str(self.data),
                "COMPANYOS_SERVICES": ",".join(f"{name}={url}" for name, url in addresses.items()),
                "COMPANYOS_MAX_EPISODES": "4096",
                "COMPANYOS_STEP_TIMEOUT_S": STEP_TIMEOUT_S,
            },
        )
