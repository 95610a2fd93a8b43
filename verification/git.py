"""The commit to which results belong."""

from __future__ import annotations

import subprocess
from pathlib import Path


def commit() -> str | None:
    """Return the short hash of the checked-out commit; None outside a clone."""
    completed = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607  # the git on the path
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    return completed.stdout.strip() or None
