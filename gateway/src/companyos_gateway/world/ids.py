"""Ids that carry nothing: a prefix and a number drawn without repetition."""

from __future__ import annotations

from companyos_shared.streams import Stream

_LOWEST, _HIGHEST = 1001, 9899


class IdGenerator:
    """The ids of one world. Which number comes next depends on the names asked for before, never on their meaning."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._taken: dict[str, set[int]] = {}

    def take(self, prefix: str) -> str:
        """Return a new id like `VEN-4711`."""
        taken = self._taken.setdefault(prefix, set())
        number = self._stream.integer(_LOWEST, _HIGHEST)
        while number in taken:
            number = self._stream.integer(_LOWEST, _HIGHEST)
        taken.add(number)
        return f"{prefix}-{number}"
