"""Pools of names, texts and figures that a world draws from, as TOML files that are read once."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


@cache
def pool(name: str) -> dict[str, Any]:
    """Return the pool of that name. The dictionary is shared and must not be changed."""
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
