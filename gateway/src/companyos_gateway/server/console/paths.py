"""Where the console is."""

from __future__ import annotations

ROOT = "/console"
START = f"{ROOT}/-/start"
END = f"{ROOT}/-/end"
SCENARIOS = f"{ROOT}/scenarios"

COOKIE = "companyos_trainer"
"""The cookie that carries the trainer's token."""

FORMS = frozenset({START, END})


def is_console(path: str) -> bool:
    """Say whether a path is one of the console's."""
    return path == ROOT or path.startswith(f"{ROOT}/")
