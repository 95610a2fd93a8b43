"""Server entry point: configures logging, runs uvicorn and shuts down gracefully.

`python -m companyos_shared.serving <module:app> [--host HOST] [--port N]` serves a service.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import gc
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from socket import socket
from types import FrameType
from typing import Any, NoReturn, cast

import uvicorn
from starlette.types import ASGIApp

from companyos_shared.lifetime import exit_when_stdin_closes
from companyos_shared.private_files import FILE_MODE
from companyos_shared.telemetry.logs import configure_logging

DRAIN_STATE = "companyos.drain"
"""Key in the lifespan state of a function that the server awaits before it closes connections."""

STOP_DEADLINE_S = 8
"""Timeout of running requests at shutdown, after the drain function has finished."""

SERVER_OPTIONS: dict[str, Any] = {
    "workers": 1,
    "loop": "uvloop",
    "http": "httptools",
    "timeout_keep_alive": 120,
    "timeout_graceful_shutdown": STOP_DEADLINE_S,
    "access_log": False,
    "log_config": None,
    "proxy_headers": "FORWARDED_ALLOW_IPS" in os.environ,  # otherwise a local client could claim any address
}

_STARTUP_FAILED = 3
_PR_SET_NAME = 15
_TICK_S = 0.1
_GC_THRESHOLDS = (20_000, 10, 20)
"""Young objects are collected 28 times less often than by CPython's defaults, the oldest generation 57 times."""


def serve(
    app: str | ASGIApp, *, name: str | None = None, quiet: bool = False, fd: int | None = None, **options: Any
) -> NoReturn:
    """Serve an app or `package.module:app`, then exit: 0 after SIGTERM or SIGINT, 3 if the server did not start.

    `name` is the process name in logs and process lists, by default the package name. `fd` is an inherited socket that
    listens already. `options` override SERVER_OPTIONS of uvicorn. With `quiet` the server does not log its start and
    shutdown.
    """
    signal.signal(signal.SIGTERM, _exit)
    name = name or process_name(str(app))
    set_process_title(name)
    configure_logging(name, quiet_server=quiet)
    server = _Server(uvicorn.Config(app, **{**SERVER_OPTIONS, **options}))
    with contextlib.suppress(KeyboardInterrupt):
        server.run(None if fd is None else [_inherited_socket(fd)])
    sys.exit(0 if server.started else _STARTUP_FAILED)


def _inherited_socket(fd: int) -> socket:
    listener = socket(fileno=fd)
    listener.set_inheritable(False)  # no child of this process may keep the port
    return listener


def process_name(app: str) -> str:
    """Return the process name of an app: `ticketdesk` for `companyos_ticketdesk.main:app`."""
    return app.partition(":")[0].partition(".")[0].removeprefix("companyos_")


def set_process_title(name: str) -> None:
    """Set the name that `ps -o comm`, `top` and `pgrep` show, of up to 15 characters; Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


class _Server(uvicorn.Server):
    """A server that lets its app finish accepted work before it closes connections."""

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if self.config.uds is not None and self.started:
            os.chmod(self.config.uds, FILE_MODE)  # uvicorn makes the socket accessible to all users
        gc.freeze()  # full collections pause every episode: skip objects created at startup, and collect less often
        gc.set_threshold(*_GC_THRESHOLDS)
        gc.enable()  # a process may disable it while it imports

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        drain = cast("Callable[[], Awaitable[None]] | None", self.lifespan.state.get(DRAIN_STATE))
        if drain is not None:
            draining = asyncio.ensure_future(drain())
            while not draining.done() and not self.force_exit:
                await asyncio.wait([draining], timeout=_TICK_S)
            draining.cancel()
        await super().shutdown(sockets)


def _exit(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Exit with status 0 when uvicorn re-raises the signal that stopped it."""
    sys.exit(0)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m companyos_shared.serving", description="Serve one app.")
    parser.add_argument("app", help="the app, as in companyos_ticketdesk.main:app")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="the port (default: %(default)s)")
    parser.add_argument("--fd", type=int, help="inherited listening socket to use instead of --host and --port")
    parser.add_argument("--until-input-ends", action="store_true", help="stop when standard input closes")
    options = parser.parse_args(arguments)
    if options.until_input_ends:
        exit_when_stdin_closes()
    serve(options.app, host=options.host, port=options.port, fd=options.fd)


if __name__ == "__main__":
    main()
