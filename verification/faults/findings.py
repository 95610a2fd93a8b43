"""Findings of a trial: violated guarantees by kind, each with a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field

KINDS = ("torn", "lost", "doubled", "unclear")


@dataclass
class Findings:
    """The violations of one trial or of many."""

    torn: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    ended: int = 0
    """Number of episodes that ended as infra_error, which is accepted if the fault outlasts a step's deadline."""

    slowest_s: float = 0.0
    """The longest response time in seconds."""

    @property
    def is_clean(self) -> bool:
        """Return whether every guarantee held."""
        return not any(self.counts())

    def counts(self) -> tuple[int, int, int, int]:
        """Return the number of violations by kind, in the order of KINDS."""
        return len(self.torn), len(self.lost), len(self.doubled), len(self.unclear)

    def to_sentences(self) -> list[str]:
        """Return every sentence prefixed with its kind."""
        return [f"{kind}: {sentence}" for kind in KINDS for sentence in getattr(self, kind)]

    def add(self, other: Findings) -> None:
        """Add another trial's findings."""
        for kind in KINDS:
            getattr(self, kind).extend(getattr(other, kind))
        self.ended += other.ended
        self.slowest_s = max(self.slowest_s, other.slowest_s)
