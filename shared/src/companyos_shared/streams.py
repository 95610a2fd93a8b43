"""Named random streams and canonical digests. The simulation uses no other randomness."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, TypeVar

T = TypeVar("T")

_SEPARATOR = "\x1f"
_DRAW_BYTES = 8
_DRAW_RANGE = 1 << (8 * _DRAW_BYTES)


def canonical_json(value: Any) -> bytes:
    """Return the canonical encoding of a JSON value: sorted keys, no spaces, UTF-8, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def digest(value: Any) -> str:
    """Return the sha256 of a JSON value's canonical form, as 64 hexadecimal characters."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


class Stream:
    """A random stream that depends only on its name: (seed, service, purpose, entity, ...).

    The n-th draw is blake2b(name, n). Streams with the same name draw the same values in any process, and draws from
    one stream do not affect others.
    """

    def __init__(self, *name: str | int) -> None:
        self._name = tuple(map(str, name))
        key = blake2b(_SEPARATOR.join(self._name).encode(), digest_size=32).digest()
        self._keyed = blake2b(key=key, digest_size=_DRAW_BYTES)
        self._drawn = 0

    @property
    def name(self) -> tuple[str, ...]:
        """The parts of the stream's name, outermost first."""
        return self._name

    def child(self, *name: str | int) -> Stream:
        """Return a child stream, which does not depend on draws from this stream."""
        return Stream(*self._name, *name)

    def integer(self, low: int, high: int) -> int:
        """Draw an integer in [low, high], both included, without modulo bias."""
        if low > high:
            raise ValueError(f"low must be at most high; got {low} and {high}")
        width = high - low + 1
        limit = _DRAW_RANGE - _DRAW_RANGE % width
        while (drawn := self._next()) >= limit:
            pass
        return low + drawn % width

    def fraction(self) -> float:
        """Draw a float in [0, 1) with 53 random bits."""
        return (self._next() >> 11) / (1 << 53)

    def chance(self, probability: float) -> bool:
        """Draw True with the given probability in [0, 1]."""
        return self.fraction() < probability

    def choice(self, items: Sequence[T]) -> T:
        """Draw one item of a non-empty sequence."""
        return items[self.integer(0, len(items) - 1)]

    def weighted(self, items: Sequence[tuple[T, int]]) -> T:
        """Draw one item by integer weight."""
        point = self.integer(1, sum([weight for _, weight in items]))
        for item, weight in items:
            point -= weight
            if point <= 0:
                return item
        raise ValueError("at least one weight must be positive")

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Draw a permutation of the items."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = self.integer(0, last)
            result[last], result[other] = result[other], result[last]
        return result

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Draw `count` items without replacement."""
        if count > len(items):
            raise ValueError(f"count must be at most {len(items)}; got {count}")
        return self.shuffled(items)[:count]

    def distinct(self, low: int, high: int, count: int) -> list[int]:
        """Draw `count` distinct integers in [low, high], both included, in time proportional to `count`."""
        if count > high - low + 1:
            raise ValueError(f"count must be at most {high - low + 1}; got {count}")
        drawn: dict[int, None] = {}
        while len(drawn) < count:
            drawn[self.integer(low, high)] = None
        return list(drawn)

    def _next(self) -> int:
        draw = self._keyed.copy()
        draw.update(self._drawn.to_bytes(8, "big"))
        self._drawn += 1
        return int.from_bytes(draw.digest(), "big")
