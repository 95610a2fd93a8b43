"""The score of a finished episode: outcome, return and checks."""

from __future__ import annotations

from dataclasses import dataclass

from companyos.viewer.reasons import has_details
from companyos_gateway.engine.episode import Episode
from companyos_gateway.scenarios.rescoring import to_episode_verdict


@dataclass(frozen=True)
class CheckResult:
    """The result of a check, with its evidence if it adds to the name."""

    id: str
    passed: bool
    fact: str


@dataclass(frozen=True)
class Score:
    """The score of a finished episode, failed checks first."""

    outcome: str
    return_: float
    steps: int
    checks: tuple[CheckResult, ...]
    damage: tuple[str, ...]


def episode_score(episode: Episode) -> Score | None:
    """Return the score of an episode, None while it is running."""
    if not episode.done or episode.outcome is None:
        return None
    verdict = to_episode_verdict(episode.progress.verdict)
    results = [
        CheckResult(id=check.id, passed=check.passed, fact=check.evidence if has_details(check) else "")
        for check in verdict.checks
    ]
    return Score(
        outcome=episode.outcome.value,
        return_=episode.progress.ledger.return_,
        steps=episode.state().step_count,
        checks=tuple(sorted(results, key=lambda result: result.passed)),
        damage=verdict.damage,
    )
