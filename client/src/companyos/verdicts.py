"""What a rubric says of an episode, check by check."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class CheckVerdict(BaseModel):
    """Whether one check passed, and what of the evidence says so. No agent is shown it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    passed: bool
    evidence: str


class EpisodeVerdict(BaseModel):
    """What a rubric says of an episode: every check, the points of the milestones that stand, what was damaged."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    success: bool
    potential: float
    damage: tuple[str, ...]
    rejections: int
    checks: tuple[CheckVerdict, ...]

    @property
    def failed(self) -> tuple[str, ...]:
        """The ids of the checks that did not pass."""
        return tuple(check.id for check in self.checks if not check.passed)

    def agrees_with(self, other: EpisodeVerdict) -> bool:
        """Say whether two verdicts come to the same, whatever their words."""
        return self._sum() == other._sum()

    def _sum(self) -> tuple[object, ...]:
        passed = {check.id: check.passed for check in self.checks}
        return self.success, round(self.potential, 9), frozenset(self.damage), self.rejections, passed
