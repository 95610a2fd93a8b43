"""File descriptors of a process: the limit is raised at start, and what is left of it is told."""

from __future__ import annotations

import os
import resource
from pathlib import Path

WANTED = 16_384

_OPEN = Path("/dev/fd")


def raise_limit() -> int:
    """Raise the soft limit to WANTED, or to the hard limit where that is lower, and return what it is now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return limit()


def limit() -> int:
    """Return how many descriptors the process may hold; WANTED where there is no limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return WANTED if soft == resource.RLIM_INFINITY else soft


def open_count() -> int:
    """Return how many descriptors the process holds."""
    return len(os.listdir(_OPEN)) - 1
