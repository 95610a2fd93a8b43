"""A process that ends with the one that started it, however that one ends."""

from __future__ import annotations

import os
import signal
import sys
import threading


def end_with_input() -> None:
    """Send this process SIGTERM once its standard input closes: a pipe that the parent holds and nobody writes to."""
    threading.Thread(target=_wait_for_the_end_of_input, name="parent-watch", daemon=True).start()


def _wait_for_the_end_of_input() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
