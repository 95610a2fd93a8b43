"""Delays between restarts of a process that keeps ending, and their state for the health routes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

FIRST_DELAY_S = 0.5
"""Delay of the second restart in a row. The first is immediate, and each further delay is twice the last."""

MAX_DELAY_S = 30.0
HEALTHY_S = 10.0
"""Running time after which the next restart is immediate again."""

_FILE = "restarts.json"


class Backoff:
    """Decides when a process may start: at once, or after a delay if it has ended several times in a row."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.restarts = 0
        """Number of times that the process ended or could not be started."""
        self.delay_s = 0.0
        """Delay of the last restart; 0 once the process is healthy."""
        self._clock = clock
        self._in_a_row = 0
        self._started_at: float | None = None
        self._due_at = clock()

    @property
    def is_due(self) -> bool:
        """Return whether the process may start now."""
        return self._clock() >= self._due_at

    def started(self) -> None:
        """Record that the process has started."""
        self._started_at = self._clock()

    def ended(self) -> float:
        """Record that the process ended or could not be started; return the delay until it may start, in seconds."""
        self.settle()
        self._started_at = None
        self.restarts += 1
        self.delay_s = min(FIRST_DELAY_S * 2.0 ** (self._in_a_row - 1), MAX_DELAY_S) if self._in_a_row else 0.0
        self._in_a_row = min(self._in_a_row + 1, 64)  # the delay is at its maximum long before
        self._due_at = self._clock() + self.delay_s
        return self.delay_s

    def settle(self) -> bool:
        """Forget earlier ends if the process has run for HEALTHY_S; return whether there were any."""
        if not self._in_a_row or self._started_at is None or self._clock() - self._started_at < HEALTHY_S:
            return False
        self._in_a_row, self.delay_s = 0, 0.0
        return True


def restart_states(backoffs: Mapping[str, Backoff]) -> dict[str, Any]:
    """Return restarts and current delay of each process that has ended, as JSON."""
    return {
        name: {"restarts": backoff.restarts, "delay_s": backoff.delay_s}
        for name, backoff in backoffs.items()
        if backoff.restarts
    }


def write_restart_states(folder: Path, backoffs: Mapping[str, Backoff]) -> None:
    """Write the states for another process. Raises OSError."""
    file = folder / _FILE
    temporary = file.with_suffix(".tmp")
    temporary.write_text(json.dumps(restart_states(backoffs)), encoding="utf-8")
    temporary.replace(file)


def read_restart_states(folder: Path) -> dict[str, Any]:
    """Return the states that another process wrote; empty if there are none."""
    try:
        states = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return states if isinstance(states, dict) else {}
