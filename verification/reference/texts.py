"""Reads the texts of the pages from the files in this folder."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


@cache
def read_texts(name: str) -> dict[str, Any]:
    """Return the texts of a file (cached; do not modify)."""
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


PROSE = read_texts("prose")
