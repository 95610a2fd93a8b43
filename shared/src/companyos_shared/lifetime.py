"""A process that ends with the one that started it, however that one ends."""

from __future__ import annotations

import os
import signal
import sys
import threading


def exit_when_stdin_closes() -> None:
    """Send this process SIGTERM once its standard input closes: a pipe that the parent holds and does not write to."""
    threading.Thread(target=_wait_for_stdin_to_close, name="parent-watch", daemon=True).start()


def _wait_for_stdin_to_close() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
