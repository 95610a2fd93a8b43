"""Sources of the viewer: live episodes and finished ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from companyos.contract import EpisodeVerdict, InjectionInfo, Outcome, ResetOptions
from companyos.viewer import EpisodeFacts
from companyos_gateway.chaos import Injection
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.reward import LedgerBalance
from companyos_gateway.evaluation import FinishDeclaration, Verdict
from companyos_gateway.scenarios.rescoring import to_episode_verdict
from companyos_gateway.viewer.step_stats import StepStats


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSource:
    """One episode as it stands: everything that its journal does not tell. Small, whatever the size of its company."""

    key: str
    """What it is known by when it is over: the internal id and the epoch."""
    id: str
    internal_id: str
    epoch: int
    scenario: str
    seed: int
    chaos: int
    task_id: str | None
    options: ResetOptions
    outcome: Outcome | None
    return_: float
    step: int
    max_steps: int
    brief: str
    company: str
    acting_as: str
    started_at: datetime
    now: datetime
    services: tuple[str, ...]
    initial_potential: float
    verdict: Verdict
    injections: Sequence[Injection]
    finish: FinishDeclaration | None
    journal: Path
    stats: StepStats

    @classmethod
    def from_episode(cls, episode: Episode, stats: StepStats) -> EpisodeSource:
        """Return an episode as it stands."""
        progress, instance, key = episode.progress, episode.task.instance, episode.task.key
        return cls(
            key=f"{episode.internal_id}.{episode.epoch}",
            id=episode.id,
            internal_id=episode.internal_id,
            epoch=episode.epoch,
            scenario=key.scenario,
            seed=key.seed,
            chaos=key.chaos,
            task_id=None if episode.published is None else episode.published.id,
            options=episode.options,
            outcome=progress.outcome,
            return_=progress.ledger.return_,
            step=progress.step,
            max_steps=instance.max_steps,
            brief=instance.brief,
            company=instance.company_name,
            acting_as=instance.acting_as,
            started_at=instance.started_at,
            now=progress.now,
            services=tuple(episode.sources),
            initial_potential=episode.task.first_verdict.potential,
            verdict=progress.verdict,
            injections=instance.injections,
            finish=progress.finish,
            journal=episode.journal.path,
            stats=stats,
        )

    @property
    def is_over(self) -> bool:
        """Return whether the episode has ended."""
        return self.outcome is not None

    @property
    def initial_balance(self) -> LedgerBalance:
        """The ledger's balance at the start."""
        return LedgerBalance(potential=self.initial_potential, costs=0.0, damaged=(), rejections=0, return_=0.0)

    def facts(self, name: str) -> EpisodeFacts:
        """Return its line of facts."""
        return EpisodeFacts(
            name=name,
            scenario=self.scenario,
            seed=self.seed,
            chaos=self.chaos,
            task_id=self.task_id,
            outcome=self.outcome,
            success=self.outcome is Outcome.SUCCESS if self.is_over else None,
            return_=self.return_,
            steps=self.step,
            failed=[check.id for check in self.verdict.checks if not check.passed],
        )

    def to_verdict(self) -> EpisodeVerdict:
        """Return the verdict as it stands."""
        return to_episode_verdict(self.verdict)

    def injection_infos(self) -> list[InjectionInfo]:
        """Return what was made to go wrong, as people are told of it."""
        return [
            InjectionInfo(kind=one.kind.value, mark=one.mark.value, entity=one.entity, detail=dict(one.detail))
            for one in self.injections
        ]
