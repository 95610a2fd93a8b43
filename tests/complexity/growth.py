"""Measures how the processing time of an input grows with its size."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

SMALL_BYTES, LARGE_BYTES = 8 * 1024, 64 * 1024
REPEATS = 4
SLACK = 2.0
"""Maximum ratio of the time per byte between the large and the small input."""
HARMLESS_S = 0.04
"""An input that takes less CPU time than this is accepted, whatever its growth. The small one is then not measured."""

Run = Callable[[int], Awaitable[object]]
"""Processes an input of that many bytes."""


@dataclass
class Growth:
    """Results of the measured inputs: the slowest one, and those whose time grows faster than their size."""

    small_bytes: int = SMALL_BYTES
    large_bytes: int = LARGE_BYTES
    measured: int = 0
    slowest: tuple[float, str] = (0.0, "nothing")
    """CPU milliseconds per additional kilobyte, and the name of the input."""
    superlinear: list[str] = field(default_factory=list)

    async def measure(self, name: str, run: Run) -> None:
        """Measure the CPU times of one input; if their growth seems too high, take the minimum of several."""
        self.measured += 1
        large_s = await _cpu_s(run, self.large_bytes)
        small_s = 0.0 if large_s < HARMLESS_S else min([await _cpu_s(run, self.small_bytes) for _ in range(2)])
        if self._is_superlinear(small_s, large_s):
            small_s = min([small_s, *[await _cpu_s(run, self.small_bytes) for _ in range(REPEATS)]])
            large_s = min([large_s, *[await _cpu_s(run, self.large_bytes) for _ in range(REPEATS)]])
            if self._is_superlinear(small_s, large_s):
                self.superlinear.append(f"{name}: {small_s * 1000:.1f} ms small, {large_s * 1000:.1f} ms large")
        self.slowest = max(self.slowest, ((large_s - small_s) * 1024_000 / (self.large_bytes - self.small_bytes), name))

    def _is_superlinear(self, small_s: float, large_s: float) -> bool:
        return large_s > max(small_s * self.large_bytes / self.small_bytes * SLACK, HARMLESS_S)

    def described(self) -> str:
        """Return a line about the slowest input."""
        return f"{self.slowest[0]:.3f} ms/KB, {self.slowest[1]} ({self.measured} inputs)"


async def _cpu_s(run: Run, size: int) -> float:
    began = time.process_time()
    await run(size)
    return time.process_time() - began
