"""Failpoints: named places in the code where a test can kill the process.

With `COMPANYOS_FAILPOINT="name"` or `"name:nth"` the process sends itself SIGKILL when it passes the failpoint for the
n-th time, by default the first. Without the variable a failpoint costs an empty call.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

VARIABLE = "COMPANYOS_FAILPOINT"


def armed(setting: str | None) -> Callable[[str], None]:
    """Return the function to call at failpoints; raises ValueError unless the setting is `name` or `name:nth`."""
    if not setting:
        return _pass_by
    name, colon, nth = setting.partition(":")
    if not name or (colon and not (nth.isdecimal() and int(nth))):
        raise ValueError(f"{VARIABLE} must be name or name:nth, with nth from 1; got {setting!r}")
    left = int(nth or 1)

    def die_here(place: str) -> None:
        nonlocal left
        if place == name:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return die_here


def _pass_by(_place: str) -> None:
    """Do nothing."""


_act: Callable[[str], None] = armed(os.environ.get(VARIABLE))


def failpoint(place: str) -> None:
    """Pass a failpoint; kills the process if it is armed."""
    _act(place)


def observe(act: Callable[[str], None]) -> Callable[[str], None]:
    """Call `act` at every failpoint and return the previous function. Simulation tests schedule their tasks with it."""
    global _act
    before, _act = _act, act
    return before
