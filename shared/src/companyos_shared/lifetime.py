"""Ends this process when its parent process ends, even if the parent is killed."""

from __future__ import annotations

import os
import signal
import sys
import threading


def exit_when_stdin_closes() -> None:
    """Send this process SIGTERM when its standard input, a pipe that the parent never writes to, closes."""
    threading.Thread(target=_wait_for_stdin_to_close, name="parent-watch", daemon=True).start()


def _wait_for_stdin_to_close() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
