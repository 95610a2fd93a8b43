"""The commit to which results belong."""

from __future__ import annotations

import subprocess
from pathlib import Path


def commit() -> str:
    """Return the checked-out commit, with the suffix `-dirty` if files differ from it; `unknown` outside a clone."""
    completed = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"],  # noqa: S607  # the git on the path
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    return completed.stdout.strip() or "unknown"
