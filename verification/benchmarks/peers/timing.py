"""Helpers for the scripts; standard library only. A script measures operations and prints one line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib.metadata import version
from statistics import median
from typing import Any

SAME_TASK, NEW_TASK, RESET_ALONE = "reset, same task", "reset, new task", "reset alone, same task"
READ, WRITE = "step, read", "step, write"
NOT_RUN = 77
"""Exit status of a script that cannot run here; its last line states the reason."""


def measure(
    kind: str, detail: str, count: int, action: Callable[[int], object], after: Callable[[], object] = lambda: None
) -> dict[str, Any]:
    """Call `action(number)` `count` times and return the median duration; `after` runs after each call, untimed."""
    durations = []
    for number in range(count):
        began = time.perf_counter()
        action(number)
        durations.append(time.perf_counter() - began)
        after()
    return {"kind": kind, "detail": detail, "count": count, "p50_ms": median(durations) * 1e3}


def print_report(distribution: str, transport: str, *operations: dict[str, Any]) -> None:
    """Print the report of a peer as the last line."""
    named = f"{distribution} {version(distribution)}"
    print(json.dumps({"version": named, "transport": transport, "operations": operations}))
