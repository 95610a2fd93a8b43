"""IDs without meaning: a prefix and a number drawn without repetition."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from companyos_shared.streams import Stream

NOTHING: Mapping[str, Collection[int]] = MappingProxyType({})
_LOWEST, _HIGHEST = 1001, 9899


class IdGenerator:
    """Generates the IDs of one world. The next number depends on the stream and earlier draws, not on meaning."""

    def __init__(self, stream: Stream, taken: Mapping[str, Collection[int]] = NOTHING) -> None:
        self._stream = stream
        self.taken = {prefix: set(numbers) for prefix, numbers in taken.items()}
        """The numbers in use, by prefix."""

    def take(self, prefix: str) -> str:
        """Return a new id like `VEN-4711`."""
        taken = self.taken.setdefault(prefix, set())
        number = self._stream.integer(_LOWEST, _HIGHEST)
        while number in taken:
            number = self._stream.integer(_LOWEST, _HIGHEST)
        taken.add(number)
        return f"{prefix}-{number}"
