"""A server process that can be started, killed, paused, continued, limited in descriptors, and restarted."""

from __future__ import annotations

import asyncio
import ctypes
import os
import resource
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

HOST = "127.0.0.1"
START_DEADLINE_S = 60.0
POLL_S = 0.02
LAST_LINES = 30

_PORTS = range(20_000, 32_000)
"""Ports below the ephemeral range, so that the port of a killed server remains free."""

_PR_SET_PDEATHSIG = 1
_reserved_ports: set[int] = set()


class ServerStartError(Exception):
    """Raised if a process does not become ready; the message ends with its log."""


def free_port(rng: Random) -> int:
    """Return an unused port outside the ephemeral range."""
    while True:
        port = rng.choice(_PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                probe.bind((HOST, port))
                if port not in _reserved_ports:
                    _reserved_ports.add(port)
                    return port


class ServerProcess:
    """A command that serves HTTP on its own port, and `/readyz` once it is ready."""

    def __init__(self, name: str, command: Sequence[str], *, port: int, log: Path, environment: dict[str, str]) -> None:
        self.name = name
        self.port = port
        self._command = command
        self._log = log
        self.environment = environment
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        """The server's URL."""
        return f"http://{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id since the last start."""
        assert self._process is not None, f"{self.name} was not started"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Return whether the process is running."""
        return self._process is not None and self._process.returncode is None

    async def start(self, **more: str) -> None:
        """Start the process without waiting until it is ready; `more` extends its environment."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("COMPANYOS_")}
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *self._command,
                env={**inherited, **self.environment, **more},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_kill_with_parent,
            )

    async def wait_until_ready(self) -> None:
        """Wait until the server is ready; raises ServerStartError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + START_DEADLINE_S
        while not await self._answers():
            if not self.is_running or loop.time() > deadline:
                raise ServerStartError(f"{self.name}: {' '.join(self._command)}\n{self.log_tail()}")
            await asyncio.sleep(POLL_S)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; ignored if the process has ended."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    async def wait_until_exited(self) -> int:
        """Wait for the process to end and return its exit status."""
        assert self._process is not None, f"{self.name} was not started"
        return await self._process.wait()

    async def kill(self) -> None:
        """Kill the process with SIGKILL and wait for its end."""
        self.signal(signal.SIGKILL)
        await self.wait_until_exited()

    def limit(self, kind: int, amount: int | None = None) -> int:
        """Set a soft limit of the running process, or only read it if `amount` is None; return the previous one."""
        soft, hard = resource.prlimit(self.pid, kind)
        if amount is not None:
            resource.prlimit(self.pid, kind, (amount, hard))
        return soft

    def open_descriptors(self) -> int:
        """Return the number of open file descriptors."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def log_tail(self) -> str:
        """Return the end of the process's log."""
        with suppress(FileNotFoundError):
            return "\n".join(self._log.read_text(errors="replace").splitlines()[-LAST_LINES:])
        return ""

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(2.0):
                reader, writer = await asyncio.open_connection(HOST, self.port)
                try:
                    writer.write(f"GET /readyz HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
                    return b" 200 " in await reader.readline()
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return False


def _kill_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
