"""Limits of a run: once one is reached, no further episode starts."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from companyos.contract import EpisodeRecord


class RunLimitReachedError(Exception):
    """Raised when a limit of a run is reached; the text names the limit."""


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """Limits of a run; None means unlimited."""

    cost: float | None = None
    """Maximum cost in the currency of the models' token prices."""
    tokens: int | None = None
    """Maximum prompt and completion tokens of models."""
    seconds: float | None = None
    """Maximum wall-clock seconds of this call; episodes of an earlier call do not count."""


class RunMeter:
    """Adds up the cost, tokens and time of a run, and checks its limits."""

    def __init__(self, limits: RunLimits) -> None:
        self._limits = limits
        self._began = monotonic()
        self._cost, self._tokens = 0.0, 0

    def add(self, record: EpisodeRecord) -> None:
        """Add an episode."""
        if record.usage is not None:
            self._cost += record.usage.cost or 0.0
            self._tokens += record.usage.prompt_tokens + record.usage.completion_tokens

    def check(self) -> None:
        """Raise RunLimitReachedError if a limit is reached."""
        limits, seconds = self._limits, monotonic() - self._began
        if limits.cost is not None and self._cost >= limits.cost:
            raise RunLimitReachedError(f"the run has cost {self._cost:,.2f} of at most {limits.cost:,.2f}")
        if limits.tokens is not None and self._tokens >= limits.tokens:
            raise RunLimitReachedError(f"the run has used {self._tokens:,} of at most {limits.tokens:,} tokens")
        if limits.seconds is not None and seconds >= limits.seconds:
            raise RunLimitReachedError(f"the run has taken {seconds:,.0f} of at most {limits.seconds:,.0f} seconds")
