"""File descriptors of a process: raises the limit and counts the open ones."""

from __future__ import annotations

import os
import resource
from pathlib import Path

TARGET_LIMIT = 16_384

_OPEN = Path("/dev/fd")


def raise_limit() -> int:
    """Raise the soft limit to TARGET_LIMIT, or to a lower hard limit, and return the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = TARGET_LIMIT if hard == resource.RLIM_INFINITY else min(TARGET_LIMIT, hard)
    if soft != resource.RLIM_INFINITY and soft < target:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    return limit()


def limit() -> int:
    """Return the soft limit of file descriptors, or TARGET_LIMIT if it is unlimited."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return TARGET_LIMIT if soft == resource.RLIM_INFINITY else soft


def open_count() -> int:
    """Return the number of open file descriptors."""
    return len(os.listdir(_OPEN)) - 1
