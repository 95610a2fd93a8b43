"""Text templates: slots such as `{vendor}`, `{person}` and `{office}` are drawn when a text contains them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from companyos_shared.streams import Stream

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_LARGEST_NUMBER = 96


class TextTemplate(Mapping[str, Any]):
    """Values for the slots of one text: given or drawn; a slot has one value throughout the text."""

    def __init__(self, stream: Stream, sources: Mapping[str, Callable[[Stream], Any]], **given: Any) -> None:
        self._stream = stream
        self._sources = sources
        self._held: dict[str, Any] = given

    def __getitem__(self, slot: str) -> Any:
        if slot not in self._held:
            self._held[slot] = self._sources[slot](self._stream)
        return self._held[slot]

    def __iter__(self) -> Any:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def fill(self, text: str) -> str:
        """Return the text with its slots filled."""
        return text.format_map(self) if "{" in text else text


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """Return words as a list in a sentence: `a, b and c`."""
    *others, last = words
    return f"{', '.join(others)} {conjunction} {last}" if others else last


def choose_from(items: list[Any]) -> Callable[[Stream], Any]:
    """Return a function that draws one of the items."""
    return lambda stream: stream.choice(items)


def draw_number(stream: Stream) -> int:
    """Draw an integer from 3 to 96."""
    return stream.integer(3, _LARGEST_NUMBER)


def draw_weekday(stream: Stream) -> str:
    """Draw the name of a weekday."""
    return stream.choice(DAYS)
