"""A server of the project as a child process that ends with this one."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self, TypedDict

from companyos.log_file import LogFile

HOST = "127.0.0.1"
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0
_POLL_S = 0.02
_PORTS_TRIED = 20
_BACKLOG = 2048
_LAST_STANDARD_STREAM = 2
"""File descriptor of standard error."""

_SERVICE_SETTINGS = ("COMPANYOS_SERVICES", "COMPANYOS_SERVICE_KEY", "COMPANYOS_SERVICE_KEY_FILE")
"""Settings that would connect the server to external services."""

_POLICY_SECRETS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
"""Variables that only the policies of this process need."""

_SETTINGS = "COMPANYOS_"
_LOG_DEFAULTS = {"COMPANYOS_LOG_FORMAT": "console"}
"""Default format of the server's log: text instead of JSON."""

_USAGE_ERROR_STATUS = 2
"""Exit status of a server that refuses to start; its last line gives the reason."""

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Opener for connections to loopback, which bypass any proxy."""


class EnterpriseError(Exception):
    """Raised if the server could not be started or exited; the text ends with its last log lines."""


class PortInUseError(EnterpriseError):
    """Raised if the port is not available; `free_port` is the next free one."""

    def __init__(self, port: int, reason: str, free_port: int | None) -> None:
        super().__init__(f"port {port} cannot be used: {reason}")
        self.free_port = free_port


class ServerOptions(TypedDict, total=False):
    """Options of a ServerProcess."""

    port: int
    data_dir: Path | None
    settings: Mapping[str, str] | None
    alone: bool


class ServerProcess:
    """A server for the duration of a `with` block; subclasses define its module.

    Leaving the block stops the server and its own processes within ten seconds, as does the end of this process.
    `settings` are environment variables of the server, which override those of this process; with `alone` it receives
    no other CompanyOS settings. Raises EnterpriseError.
    """

    title: str
    health: ClassVar[tuple[str, str]]
    """Path of a health check and the status that it has in the response of a ready server."""

    def __init__(
        self,
        *,
        port: int = 0,
        data_dir: Path | None = None,
        settings: Mapping[str, str] | None = None,
        alone: bool = False,
    ) -> None:
        self._port = port
        self._data_dir = data_dir
        self._settings = dict(settings or {})
        self._alone = alone
        self._process: subprocess.Popen[bytes] | None = None
        self._log: LogFile | None = None

    @property
    def log_path(self) -> Path | None:
        """Log file of the server. It is kept in a data folder; without one, only after a failure."""
        return self._log.path if self._log is not None else None

    @property
    def url(self) -> str:
        """URL of the server."""
        return f"http://{HOST}:{self._port}"

    @property
    def pid(self) -> int | None:
        """Process id of the running server."""
        return self._process.pid if self._process is not None else None

    def arguments(self) -> list[str]:
        """Return the module to run, and its arguments. Raises EnterpriseError if it is not installed."""
        raise NotImplementedError

    def start(self) -> Self:
        """Start the server without waiting for it."""
        command = [sys.executable, "-m", *self.arguments(), "--host", HOST]
        with _listen(self._port) as listener:  # the server inherits it, so that no other process can take the port
            self._port = listener.getsockname()[1]
            command += ["--port", str(self._port), "--fd", str(listener.fileno()), "--until-input-ends"]
            self._log = LogFile(self._data_dir)
            self._process = subprocess.Popen(
                command,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=self._log.file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[listener.fileno()],
            )
        return self

    def wait_until_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until the server is ready."""
        deadline = time.monotonic() + timeout_s
        while not self._is_healthy():
            self.check_alive()
            if time.monotonic() > deadline:
                raise EnterpriseError(f"the {self.title} was not ready within {timeout_s:.0f} s{self._log_tail()}")
            time.sleep(_POLL_S)

    def check_alive(self) -> None:
        """Raise EnterpriseError if the server has exited."""
        if self._process is None:
            raise EnterpriseError(f"the {self.title} was not started")
        if (code := self._process.poll()) is not None:
            last_lines = [] if self._log is None else self._log.last_lines()
            if code == _USAGE_ERROR_STATUS and last_lines:
                raise EnterpriseError(last_lines[-1].removeprefix("error: "))
            raise EnterpriseError(f"the {self.title} exited with status {code}{self._log_tail()}")

    def stop(self) -> None:
        """Stop the server, if it is running."""
        process, self._process = self._process, None
        if process is not None:
            _terminate(process)
        if self._log is not None:
            self._log.close()

    def _is_healthy(self) -> bool:
        path, status = self.health
        try:
            return bool(self._get(path).get("status") == status)
        except (OSError, ValueError):
            return False

    def _get(self, path: str) -> dict[str, Any]:
        """Return the JSON object at a path. Raises OSError or ValueError."""
        with _OPENER.open(f"{self.url}{path}", timeout=2.0) as response:
            return dict(json.load(response))

    def _environment(self) -> dict[str, str]:
        environment = _LOG_DEFAULTS | {
            name: value
            for name, value in os.environ.items()
            if not (name in (*_SERVICE_SETTINGS, *_POLICY_SECRETS) or (self._alone and name.startswith(_SETTINGS)))
        }
        if self._data_dir is not None:
            environment["COMPANYOS_DATA_DIR"] = str(self._data_dir.resolve())
        return environment | self._settings

    def _log_tail(self) -> str:
        """Return the end of the log and its path; the file is kept from then on."""
        if self._log is None:
            return ""
        self._log.keep()
        return "\n".join(["", *self._log.last_lines(), f"log: {self._log.path}"])

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


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """Terminate the process; kill its process group after ten seconds."""
    if process.poll() is None:
        process.terminate()
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _listen(port: int) -> socket.socket:
    """Return a socket that listens on the port, or on a free one for 0. Raises PortInUseError if the port is taken."""
    try:
        return _listener(port)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise PortInUseError(port, reason, _next_free_port(port)) from None


def _next_free_port(port: int) -> int | None:
    for candidate in range(port + 1, port + 1 + _PORTS_TRIED):
        with suppress(OSError, OverflowError), _listener(candidate):
            return candidate
    return None


def _listener(port: int) -> socket.socket:
    listener = socket.create_server((HOST, port), backlog=_BACKLOG)
    with ExitStack() as originals:
        while listener.fileno() <= _LAST_STANDARD_STREAM:  # the number of a closed stream, which the child opens again
            originals.enter_context(listener)
            listener = listener.dup()
    return listener
