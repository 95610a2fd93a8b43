"""The entry of an embedded service's process: `python -m companyos_gateway.process.child <module:app> <socket>`.

The process ends with its parent, however that one dies: its standard input is a pipe that nobody writes to, and on
Linux the kernel is asked to send SIGTERM as well.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import NoReturn

from companyos_gateway.process.lifetime import exit_when_stdin_closes
from companyos_shared.serving import serve

_PR_SET_PDEATHSIG = 1
_PARENT_SERVICE_NAME = "OTEL_SERVICE_NAME"


def main(app: str, socket: str) -> NoReturn:
    """Serve the app on a Unix socket until the parent is gone or says so."""
    os.environ.pop(_PARENT_SERVICE_NAME, None)
    _die_with_parent()
    serve(app, uds=socket, quiet=True)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    exit_when_stdin_closes()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
