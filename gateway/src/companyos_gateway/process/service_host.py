"""The parent process of the embedded services: imports shared modules once and forks a process per service.

`python -m companyos_gateway.process.service_host FOLDER NAME=MODULE:APP...` serves each app on `FOLDER/NAME.sock`. A
service that ends is restarted at once, and with growing delays if it keeps ending. Host and services exit with the
gateway, even if it is killed: their standard input is then a pipe without a writer, and on Linux the kernel also sends
SIGTERM.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import select
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, NoReturn

from companyos_gateway.process.backoff import Backoff, write_restart_states
from companyos_gateway.services import SERVICE_GROUP, load_error_file
from companyos_shared.folder_lock import kill_orphan
from companyos_shared.lifetime import exit_when_stdin_closes
from companyos_shared.serving import serve, set_process_title
from companyos_shared.telemetry.logs import configure_logging

CHECK_INTERVAL_S = 0.2
STOP_DEADLINE_S = 1.5

_MODULE = "companyos_gateway.process.service_host"
_NAME = "service-host"
_SHARED = (
    "companyos_shared.framework",
    "pydantic.v1",  # FastAPI imports it for the first route
    "sqlalchemy.dialects.sqlite",
    "httptools",
    "uvloop",
    "uvicorn.lifespan.on",
    "uvicorn.protocols.http.httptools_impl",
    "uvicorn.protocols.websockets.auto",
)
"""Modules that every service imports."""

_PR_SET_PDEATHSIG = 1
_PARENT_SERVICE_NAME = "OTEL_SERVICE_NAME"
_POLL_S = 0.02
_log = logging.getLogger(__name__)


def main(folder: str, *services: str) -> NoReturn:
    """Run the host; in each forked process, serve the app of its service until the gateway exits or stops it."""
    os.environ.pop(_PARENT_SERVICE_NAME, None)
    signal.signal(signal.SIGTERM, _exit)
    _end_with_parent()
    set_process_title(_NAME)
    configure_logging(_NAME)
    for module in _SHARED:
        import_module(module)
    gc.freeze()  # keeps the collectors of forked processes from copying shared pages
    apps = dict(service.split("=", 1) for service in services)
    name = _keep_running(Path(folder), sorted(apps))
    _end_with_parent()
    exit_when_stdin_closes()
    socket = Path(folder) / f"{name}.sock"
    socket.unlink(missing_ok=True)
    kill_orphan(Path(os.environ["COMPANYOS_DATA_DIR"]) / name, _MODULE)  # the gateway has locked its data folder
    serve(_load_app(Path(folder), name, apps[name]), name=name, uds=str(socket), quiet=True)


def _load_app(folder: Path, name: str, location: str) -> Any:
    """Return the app of a service. Exits if there is none, and leaves the reason in a file."""
    file = load_error_file(folder, name)
    try:
        app = EntryPoint(name, location, SERVICE_GROUP).load()
        service = getattr(getattr(getattr(app, "state", None), "episodes", None), "service", None)
        if service is None:
            raise TypeError(f"must be the app that create_app returns; got {type(app).__name__}")
        if service.name != name:
            raise ValueError(f"the service is named {service.name!r}")
        app.openapi()  # built in advance, because the gateway requests it first
    except Exception as error:  # noqa: BLE001 - the module of another package may raise anything
        _log.exception("the service %s cannot be served", name)
        file.write_text(str(error) or type(error).__name__, encoding="utf-8")
        sys.exit(1)
    file.unlink(missing_ok=True)
    return app


def _keep_running(folder: Path, names: Iterable[str]) -> str:
    """Keep one forked process per name running until the gateway exits. In each of them, return its name."""
    host = os.getpid()
    running: dict[int, str] = {}
    backoffs = {name: Backoff() for name in names}
    _report(folder, backoffs)
    try:
        while True:
            for name in set(backoffs) - set(running.values()):
                if not backoffs[name].is_due:
                    continue
                try:
                    pid = os.fork()
                except OSError as error:
                    _log.error("the service %s could not be started: %s", name, error)
                    _record_end(folder, backoffs, name)
                    continue
                if pid == 0:
                    return name
                running[pid] = name
                backoffs[name].started()
            if select.select([sys.stdin], [], [], CHECK_INTERVAL_S)[0]:
                sys.exit(0)
            for pid, status in _ended(running):
                name, code = running.pop(pid), os.waitstatus_to_exitcode(status)
                _log.error("the service %s ended with code %s", name, code)
                _record_end(folder, backoffs, name)
            _settle(folder, backoffs)
    finally:
        if os.getpid() == host:
            _stop(running)


def _record_end(folder: Path, backoffs: dict[str, Backoff], name: str) -> None:
    delay_s = backoffs[name].ended()
    _log.error("the service %s is started again in %g s (restart %d)", name, delay_s, backoffs[name].restarts)
    _report(folder, backoffs)


def _settle(folder: Path, backoffs: dict[str, Backoff]) -> None:
    """Log and report the services that are healthy again."""
    settled = [name for name, backoff in backoffs.items() if backoff.settle()]
    for name in settled:
        _log.info("the service %s is healthy again after %d restarts", name, backoffs[name].restarts)
    if settled:
        _report(folder, backoffs)


def _report(folder: Path, backoffs: dict[str, Backoff]) -> None:
    """Store the restarts for the gateway's health routes."""
    try:
        write_restart_states(folder, backoffs)
    except OSError as error:
        _log.error("the restarts of the services could not be stored: %s", error)


def _ended(running: Iterable[int]) -> list[tuple[int, int]]:
    """Return id and status of the processes that have ended."""
    return [(pid, status) for pid, status in (os.waitpid(each, os.WNOHANG) for each in running) if pid]


def _stop(running: dict[int, str]) -> None:
    """Terminate the processes; kill those that still run after STOP_DEADLINE_S."""
    for pid in running:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    give_up_at = time.monotonic() + STOP_DEADLINE_S
    while running and time.monotonic() < give_up_at:
        for pid, _status in _ended(running):
            del running[pid]
        time.sleep(_POLL_S)
    for pid in running:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _exit(_signal: int, _frame: object) -> NoReturn:
    sys.exit(0)


if __name__ == "__main__":
    gc.disable()  # imports create no garbage
    main(*sys.argv[1:])
