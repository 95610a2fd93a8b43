"""The entry of an embedded service's process: `python -m companyos_gateway.server.child <module:app> <socket>`.

The process ends with its parent, however that one dies: its standard input is a pipe that nobody writes to, and on
Linux the kernel is asked to send SIGTERM as well.
"""

from __future__ import annotations

import ctypes
import signal
import sys

import uvicorn

from companyos_gateway.server.parent import end_with_input
from companyos_gateway.server.uvicorn_options import UVICORN_OPTIONS

_PR_SET_PDEATHSIG = 1


def main(app: str, socket: str) -> None:
    """Serve the app on a Unix socket until the parent is gone or says so."""
    _die_with_parent()
    uvicorn.run(app, uds=socket, log_level="warning", **UVICORN_OPTIONS)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    end_with_input()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
