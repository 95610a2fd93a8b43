"""Named places where a process can be told to die, so that what is left behind can be looked at.

`COMPANYOS_FAILPOINT="name"` or `"name:nth"` arms one place of one process: it kills itself with SIGKILL when it passes
there for the n-th time, the first where no number is given. Without the variable a place costs an empty call.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

VARIABLE = "COMPANYOS_FAILPOINT"


def armed(setting: str | None) -> Callable[[str], None]:
    """Return what a process does at a place; raises ValueError where the setting is not `name` or `name:nth`."""
    if not setting:
        return _pass_by
    name, colon, nth = setting.partition(":")
    if not name or (colon and not (nth.isdecimal() and int(nth))):
        raise ValueError(f"{VARIABLE} is {setting!r}: it takes name or name:nth, counted from 1")
    left = int(nth or 1)

    def die_here(place: str) -> None:
        nonlocal left
        if place == name:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return die_here


def _pass_by(_place: str) -> None:
    """Do nothing: no place is armed."""


_act: Callable[[str], None] = armed(os.environ.get(VARIABLE))


def failpoint(place: str) -> None:
    """Pass the place of that name; the process dies there when it was told to."""
    _act(place)


def observe(act: Callable[[str], None]) -> Callable[[str], None]:
    """Call `act` at every place from here on, and return what was called before: a simulation schedules there."""
    global _act
    before, _act = _act, act
    return before
