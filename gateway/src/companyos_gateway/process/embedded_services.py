"""The enterprise in one command: every installed service as a child process on a Unix socket."""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from types import TracebackType

from companyos_gateway.process.environment import service_environment
from companyos_shared.folder_lock import kill_orphan

CHILD_MODULE = "companyos_gateway.process.child"
SERVICE_GROUP = "companyos.services"
STOP_DEADLINE_S = 1.5
RESTART_PAUSE_S = 0.2

_KEY_BYTES = 32
_log = logging.getLogger(__name__)


class EmbeddedServices:
    """Child processes of the services that are installed; one that dies is started again on the same files.

    Their sockets lie in `folder`, their databases in `data_dir`.
    """

    def __init__(self, folder: Path, data_dir: Path) -> None:
        self._folder = folder
        self._data_dir = data_dir
        self._apps = {entry.name: entry.value for entry in metadata.entry_points(group=SERVICE_GROUP)}
        self._key = secrets.token_hex(_KEY_BYTES)
        self._supervisors: list[asyncio.Task[None]] = []

    @property
    def key(self) -> bytes:
        """The key that signs calls to these services."""
        return self._key.encode()

    @property
    def addresses(self) -> dict[str, str]:
        """The address of each service by name."""
        return {name: f"unix:{self._socket(name)}" for name in self._apps}

    async def __aenter__(self) -> EmbeddedServices:
        if not self._apps:
            raise RuntimeError(f"No service is installed: the entry-point group {SERVICE_GROUP} is empty.")
        self._supervisors = [asyncio.create_task(self._keep_running(name)) for name in sorted(self._apps)]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for supervisor in self._supervisors:
            supervisor.cancel()
        await asyncio.gather(*self._supervisors, return_exceptions=True)

    async def _keep_running(self, name: str) -> None:
        while True:
            try:
                process = await self._start(name)
            except OSError as error:
                _log.error("the service %s could not be started and is tried again: %s", name, error)
            else:
                await self._wait_for_exit(name, process)
            await asyncio.sleep(RESTART_PAUSE_S)

    async def _wait_for_exit(self, name: str, process: asyncio.subprocess.Process) -> None:
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            await _stop(process)
            raise
        _log.error("the service %s ended with code %s and is started again", name, code)

    async def _start(self, name: str) -> asyncio.subprocess.Process:
        """Start a service. The gateway's folder is locked, so a child that still holds the service's is an orphan."""
        await asyncio.to_thread(kill_orphan, self._data_dir / name, CHILD_MODULE)
        with suppress(FileNotFoundError):
            self._socket(name).unlink()
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            CHILD_MODULE,
            self._apps[name],
            str(self._socket(name)),
            stdin=asyncio.subprocess.PIPE,
            env=service_environment(COMPANYOS_SERVICE_KEY=self._key, COMPANYOS_DATA_DIR=str(self._data_dir)),
            start_new_session=True,
        )

    def _socket(self, name: str) -> Path:
        return self._folder / f"{name}.sock"


async def _stop(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOP_DEADLINE_S):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
