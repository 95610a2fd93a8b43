"""The words of the scenario, read once from texts.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def texts() -> dict[str, Any]:
    """Return the words; they are shared and not to be changed."""
    return tomllib.loads((Path(__file__).parent / "texts.toml").read_text(encoding="utf-8"))
