"""Embedded services: runs the installed services as child processes on Unix sockets."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from companyos.entry_points import EntryPointError
from companyos_gateway.process.backoff import Backoff, read_restart_states, restart_states
from companyos_gateway.process.environment import service_environment
from companyos_gateway.services import SERVICE_GROUP, load_error_file, service_entry_points

HOST_MODULE = "companyos_gateway.process.service_host"
STOP_DEADLINE_S = 2.5
"""Slightly more than the deadline of the host for its services."""

_POLL_S = 0.2
_HOST = "service-host"
_STOP_POLL_S = 0.02
_KEY_BYTES = 32
_log = logging.getLogger(__name__)


class EmbeddedServices:
    """Processes of the installed services and of their host, which restarts them; a dead host is restarted as well.

    The first restart is immediate; a process that keeps ending is restarted with growing delays.

    Their sockets are in `folder`, their databases in `data_dir`, whose lock the caller holds: a process that still
    uses a service's folder is an orphan of another gateway and is killed. Raises EntryPointError for a service whose
    name cannot be used.
    """

    def __init__(self, folder: Path, data_dir: Path) -> None:
        self._folder = folder
        self._data_dir = data_dir
        self._points = service_entry_points()
        self._key = secrets.token_hex(_KEY_BYTES)
        self._host: subprocess.Popen[bytes] | None = None
        self._backoff = Backoff()
        self._supervisor: asyncio.Task[None] | None = None

    @property
    def key(self) -> bytes:
        """The key that signs calls to these services."""
        return self._key.encode()

    @property
    def addresses(self) -> dict[str, str]:
        """The address of each service by name."""
        return {name: f"unix:{self._folder / name}.sock" for name in self._points}

    def restarts(self) -> dict[str, Any]:
        """Return restarts and current delay of the host and of each service of this host that has ended."""
        return restart_states({_HOST: self._backoff}) | read_restart_states(self._folder)

    def start(self) -> None:
        """Start the host without waiting for the services. Raises OSError, and RuntimeError without any service."""
        if not self._points:
            raise RuntimeError(f"No service is installed: the entry-point group {SERVICE_GROUP} is empty.")
        self._host = subprocess.Popen(
            [
                sys.executable,
                "-m",
                HOST_MODULE,
                str(self._folder),
                *(f"{name}={point.value}" for name, point in self._points.items()),
            ],
            stdin=subprocess.PIPE,
            env=service_environment(COMPANYOS_SERVICE_KEY=self._key, COMPANYOS_DATA_DIR=str(self._data_dir)),
            start_new_session=True,
        )
        self._backoff.started()

    async def wait_for_load_error(self) -> NoReturn:
        """Wait for a service whose app cannot be served. Raises EntryPointError for it."""
        while True:
            if (error := self.load_error()) is not None:
                raise error
            await asyncio.sleep(_POLL_S)

    def load_error(self) -> EntryPointError | None:
        """Return the error of a service whose app cannot be served, if there is one."""
        for name, point in self._points.items():
            with suppress(FileNotFoundError):
                if reason := load_error_file(self._folder, name).read_text(encoding="utf-8"):
                    return EntryPointError(point, reason)
        return None

    def kill(self) -> None:
        """Kill the host and the services, if the gateway exits without stopping them."""
        if self._host is not None and self._host.poll() is None:
            os.killpg(self._host.pid, signal.SIGKILL)
            self._host.wait()
            _close(self._host)

    async def __aenter__(self) -> EmbeddedServices:
        if self._host is None:
            with suppress(OSError):
                self.start()
        self._supervisor = asyncio.create_task(self._keep_running())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.gather(self._supervisor, return_exceptions=True)
        if self._host is not None:
            await _stop(self._host)

    async def _keep_running(self) -> None:
        while True:
            if self._host is not None and (code := self._host.poll()) is not None:
                _log.error("the host of the services ended with code %s", code)
                _close(self._host)
                self._host = None
                self._record_end()
            if self._host is None and self._backoff.is_due:
                try:
                    self.start()
                except OSError as error:
                    _log.error("the host of the services could not be started: %s", error)
                    self._record_end()
            if self._backoff.settle():
                _log.info("the host of the services is healthy again after %d restarts", self._backoff.restarts)
            await asyncio.sleep(_POLL_S)

    def _record_end(self) -> None:
        delay_s = self._backoff.ended()
        _log.error("the host of the services is started again in %g s (restart %d)", delay_s, self._backoff.restarts)


async def _stop(host: subprocess.Popen[bytes]) -> None:
    """Terminate the host, which terminates the services; kill all of them after STOP_DEADLINE_S."""
    host.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_DEADLINE_S):
            while host.poll() is None:  # noqa: ASYNC110 - the process of another interpreter
                await asyncio.sleep(_STOP_POLL_S)
    if host.poll() is None:
        os.killpg(host.pid, signal.SIGKILL)
        host.wait()
    _close(host)


def _close(host: subprocess.Popen[bytes]) -> None:
    """Close the pipe to the host, which also ends services that it left behind."""
    if host.stdin is not None:
        host.stdin.close()
