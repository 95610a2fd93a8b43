"""What a trial found: promises that were broken, by kind, each with the sentence that says how."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

KINDS = ("torn", "lost", "doubled", "unclear")


@dataclass
class Findings:
    """The broken promises of one trial or of many."""

    torn: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    ended: int = 0
    """Episodes that ended as infra_error, which is an answer where the fault outlasts a step's deadline."""

    slowest_s: float = 0.0
    """The longest that anybody waited for an answer."""

    observed_effects: Counter[str] = field(default_factory=Counter)
    """What was noticed of the fault: refusals by their code, broken connections, calls that were struck."""

    @property
    def is_clean(self) -> bool:
        """Whether every promise was kept."""
        return not any(self.counts())

    def counts(self) -> tuple[int, int, int, int]:
        """Return how many there are of each kind, in the order of KINDS."""
        return len(self.torn), len(self.lost), len(self.doubled), len(self.unclear)

    def to_sentences(self) -> list[str]:
        """Return every sentence with its kind in front."""
        return [f"{kind}: {sentence}" for kind in KINDS for sentence in getattr(self, kind)]

    def add(self, other: Findings) -> None:
        """Take in what another trial found."""
        for kind in KINDS:
            getattr(self, kind).extend(getattr(other, kind))
        self.ended += other.ended
        self.slowest_s = max(self.slowest_s, other.slowest_s)
        self.observed_effects.update(other.observed_effects)
