"""The words of the pages, read once from the files beside this one."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


@cache
def read_texts(name: str) -> dict[str, Any]:
    """Return the words of a file; they are shared and not to be changed."""
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


PROSE = read_texts("prose")
