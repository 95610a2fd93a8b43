"""Failpoints: named places in the code where a test can kill the process.

With `COMPANYOS_FAILPOINT="name"` or `"name:nth"` the process sends itself SIGKILL when it passes the failpoint for the
n-th time, by default the first. Without the variable a failpoint is an empty function call.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

VARIABLE = "COMPANYOS_FAILPOINT"


def parse_failpoint(setting: str | None) -> Callable[[str], None]:
    """Return the function to call at failpoints; raises ValueError unless the setting is `name` or `name:nth`."""
    if not setting:
        return _ignore
    name, colon, nth = setting.partition(":")
    if not name or (colon and not (nth.isdecimal() and int(nth))):
        raise ValueError(f"{VARIABLE} must be name or name:nth, with nth from 1; got {setting!r}")
    left = int(nth or 1)

    def kill_at(place: str) -> None:
        nonlocal left
        if place == name:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return kill_at


def _ignore(_place: str) -> None:
    """Do nothing."""


_handler: Callable[[str], None] = parse_failpoint(os.environ.get(VARIABLE))


def failpoint(place: str) -> None:
    """Call the failpoint handler, which kills the process if this failpoint is armed."""
    _handler(place)


def replace_handler(handler: Callable[[str], None]) -> Callable[[str], None]:
    """Call `handler` at every failpoint and return the previous handler. Simulation tests use it to schedule tasks."""
    global _handler
    before, _handler = _handler, handler
    return before
