"""The score of a finished episode: outcome, return and checks."""

from __future__ import annotations

from dataclasses import dataclass

from companyos.contract import CheckVerdict, Scorecard
from companyos_gateway.engine.episode import Episode
from companyos_gateway.scenarios.rescoring import to_episode_verdict


@dataclass(frozen=True)
class Score:
    """The score of a finished episode; the primary failure first, then the other failed checks."""

    outcome: str
    return_: float
    steps: int
    primary_failure: str | None
    scorecard: Scorecard | None
    checks: tuple[CheckVerdict, ...]
    cases: str | None
    """Solved cases of a shift as text; None if it has no cases."""
    damage: tuple[str, ...]


def episode_score(episode: Episode) -> Score | None:
    """Return the score of an episode, None while it is running."""
    if not episode.done or episode.outcome is None:
        return None
    verdict = to_episode_verdict(episode.verdict(), episode.evidence)
    return Score(
        outcome=episode.outcome.value,
        return_=episode.progress.ledger.return_,
        steps=episode.state().step_count,
        primary_failure=verdict.primary_failure,
        scorecard=verdict.scorecard,
        checks=verdict.failures_first,
        cases=verdict.solved_cases,
        damage=verdict.damage,
    )
