"""The texts of a scenario, read once from its texts.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from companyos_gateway.world.splits import texts_for_split
from companyos_shared.streams import Stream

_FIRST_LETTER = re.compile(r"^[a-z]|(?<=\? )[a-z]")


class TextTable(dict[str, Any]):
    """A table of texts.toml. A missing key raises LookupError with its full name."""

    def __init__(self, table: Mapping[str, Any], prefix: str = "") -> None:
        super().__init__(
            (key, TextTable(value, f"{prefix}{key}.") if isinstance(value, dict) else value)
            for key, value in table.items()
        )
        self._prefix = prefix

    def __missing__(self, key: str) -> Any:
        raise LookupError(f"texts.toml has no {self._prefix + key!r}")


@cache
def load_texts(module_file: str) -> dict[str, Any]:
    """Return the texts in the folder of a module. The dictionary is shared and must not be changed."""
    return read_texts(Path(module_file).parent)


@cache
def read_texts(folder: Path) -> dict[str, Any]:
    """Return the texts of a folder, read once. Raises OSError, and TOMLDecodeError for an invalid file."""
    return TextTable(tomllib.loads((folder / "texts.toml").read_text(encoding="utf-8")))


def capitalize_first(text: str) -> str:
    """Return a text with a capital first letter, also after questions."""
    return _FIRST_LETTER.sub(lambda match: match.group().upper(), text)


def draw_brief(words: dict[str, Any], stream: Stream, key: str) -> str:
    """Draw the brief of a task; all briefs name the ticket, and some are held out for a split."""
    brief: str = stream.choice(texts_for_split(stream, words["briefs"]))
    return brief.format(key=key)
