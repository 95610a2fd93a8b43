"""How a process of the house serves its app: its log, one set of server options, an end that loses nothing.

`python -m companyos_shared.serving <module:app> [--host HOST] [--port N]` serves a service.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from socket import socket
from types import FrameType
from typing import Any, NoReturn, cast

import uvicorn

from companyos_shared.private_files import FILE_MODE
from companyos_shared.telemetry.logs import configure_logging

DRAIN_STATE = "companyos.drain"
"""Where an app's lifespan leaves, in its state, what is to be awaited before its connections are closed."""

STOP_DEADLINE_S = 8
"""How long answers may take once nothing new is taken; whatever drains has waited for its own work before that."""

SERVER_OPTIONS: dict[str, Any] = {
    "workers": 1,
    "loop": "uvloop",
    "http": "httptools",
    "timeout_keep_alive": 120,
    "timeout_graceful_shutdown": STOP_DEADLINE_S,
    "access_log": False,
    "log_config": None,
}

_STARTUP_FAILED = 3
_TICK_S = 0.1
_GC_THRESHOLDS = (700, 10, 100)
"""CPython's own, but for the last: the oldest generation is collected ten times less often."""


def serve(app: str, *, quiet: bool = False, **options: Any) -> NoReturn:
    """Serve `package.module:app` until told to stop, then exit: 0 after SIGTERM or SIGINT, 3 where it did not start.

    `options` are uvicorn's, over SERVER_OPTIONS. With `quiet` the server's own lines about start and end are left out.
    """
    signal.signal(signal.SIGTERM, _exit)
    configure_logging(process_name(app), quiet_server=quiet)
    server = _Server(uvicorn.Config(app, **{**SERVER_OPTIONS, **options}))
    with contextlib.suppress(KeyboardInterrupt):
        server.run()
    sys.exit(0 if server.started else _STARTUP_FAILED)


def process_name(app: str) -> str:
    """Return what the process of an app is called: `ticketdesk` for `companyos_ticketdesk.main:app`."""
    return app.partition(":")[0].partition(".")[0].removeprefix("companyos_")


class _Server(uvicorn.Server):
    """A server that lets its app finish what was taken before any connection is closed."""

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if self.config.uds is not None and self.started:
            os.chmod(self.config.uds, FILE_MODE)  # uvicorn opens it to every user
        gc.freeze()  # full collections stop every episode: they skip what the start has made, and are rarer
        gc.set_threshold(*_GC_THRESHOLDS)

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        drain = cast("Callable[[], Awaitable[None]] | None", self.lifespan.state.get(DRAIN_STATE))
        if drain is not None:
            draining = asyncio.ensure_future(drain())
            while not draining.done() and not self.force_exit:
                await asyncio.wait([draining], timeout=_TICK_S)
            draining.cancel()
        await super().shutdown(sockets)


def _exit(_signal: int, _frame: FrameType | None) -> NoReturn:
    """End well: uvicorn hands the signal that stopped it to whoever minded it before."""
    sys.exit(0)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m companyos_shared.serving", description="Serve one app.")
    parser.add_argument("app", help="the app, as in companyos_ticketdesk.main:app")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="the port (default: %(default)s)")
    asked = parser.parse_args(arguments)
    serve(asked.app, host=asked.host, port=asked.port)


if __name__ == "__main__":
    main()
