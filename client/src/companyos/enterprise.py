"""A whole enterprise on this machine, without Docker: the gateway as a child process, which starts the services."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import IO, Self

GATEWAY = "companyos_gateway"
HOST = "127.0.0.1"
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0
_POLL_S = 0.05
_OTHER_SERVICES = ("COMPANYOS_SERVICES", "COMPANYOS_SERVICE_KEY", "COMPANYOS_SERVICE_KEY_FILE")
"""Settings that would lead the gateway to somebody else's services."""

_LAST_LINES = 40

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Loopback is never asked for through a proxy."""


class EnterpriseFailed(Exception):
    """The enterprise could not be started, or ended by itself; the text ends with its last words."""


class Enterprise:
    """The enterprise while it is entered: `with Enterprise() as enterprise: enterprise.url`.

    Leaving stops the gateway and with it the services, within ten seconds; so does the end of this process, however it
    comes. Raises EnterpriseFailed.
    """

    def __init__(self, *, port: int = 0, data_dir: Path | None = None, keep: bool = False) -> None:
        self._port = port
        self._data_dir = data_dir
        self._keep = keep
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of the gateway."""
        return f"http://{HOST}:{self._port}"

    @property
    def pid(self) -> int | None:
        """The process id of the gateway while it runs."""
        return self._process.pid if self._process is not None else None

    def start(self) -> Self:
        """Start the gateway without waiting for it."""
        if importlib.util.find_spec(GATEWAY) is None:
            raise EnterpriseFailed("the server is not installed: pip install 'companyos[server]'")
        self._port = _free_port(self._port)
        command = [sys.executable, "-m", GATEWAY, "--host", HOST, "--port", str(self._port), "--until-input-ends"]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the child writes to it
        self._process = subprocess.Popen(
            command,
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return self

    def wait_until_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Return once the gateway and every service answer."""
        deadline = time.monotonic() + timeout_s
        while not _is_healthy(self.url):
            self.check_alive()
            if time.monotonic() > deadline:
                raise EnterpriseFailed(f"the enterprise was not ready within {timeout_s:.0f} s\n{self._last_words()}")
            time.sleep(_POLL_S)

    def check_alive(self) -> None:
        """Raise EnterpriseFailed when the gateway has ended."""
        if self._process is None:
            raise EnterpriseFailed("the enterprise was not started")
        if (code := self._process.poll()) is not None:
            raise EnterpriseFailed(f"the gateway ended with status {code}\n{self._last_words()}")

    def stop(self) -> None:
        """Stop the gateway and its services; do nothing when they have ended."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)
        if self._log is not None:
            self._log.close()

    def _environment(self) -> dict[str, str]:
        environment = {name: value for name, value in os.environ.items() if name not in _OTHER_SERVICES}
        if self._data_dir is not None:
            environment["COMPANYOS_DATA_DIR"] = str(self._data_dir.resolve())
        if self._keep:
            environment["COMPANYOS_KEEP_EPISODES"] = "true"
        return environment

    def _last_words(self) -> str:
        if self._log is None:
            return ""
        self._log.seek(0)
        return "\n".join(self._log.read().decode(errors="replace").splitlines()[-_LAST_LINES:])

    def __enter__(self) -> Self:
        self.start()
        try:
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the process to end; after ten seconds end its whole group."""
    if process.poll() is None:
        process.terminate()
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _free_port(port: int) -> int:
    """Return the port, or a free one for 0; raises EnterpriseFailed for a taken one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise EnterpriseFailed(f"port {port} cannot be used: {error.strerror}") from None
        bound: int = probe.getsockname()[1]
        return bound


def _is_healthy(url: str) -> bool:
    try:
        with _OPENER.open(f"{url}/health", timeout=2.0) as answer:
            return bool(json.load(answer).get("status") == "healthy")
    except (OSError, ValueError):
        return False
