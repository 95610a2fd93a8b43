"""The source of a viewed episode: a copy of its state, live or finished."""

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
from companyos_gateway.evaluation import FinishDeclaration
from companyos_gateway.scenarios.rescoring import to_episode_verdict
from companyos_gateway.viewer.step_stats import StepStats


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSource:
    """The state of an episode without its journal. Its size does not depend on the size of the company."""

    key: str
    """Key of the finished episode: internal id and epoch."""
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
    verdict: EpisodeVerdict
    injections: Sequence[Injection]
    finish: FinishDeclaration | None
    journal: Path
    stats: StepStats

    @classmethod
    def from_episode(cls, episode: Episode, stats: StepStats) -> EpisodeSource:
        """Return the current state of an episode."""
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
            verdict=to_episode_verdict(progress.verdict, progress.evidence, is_over=progress.outcome is not None),
            injections=instance.injections,
            finish=progress.finish,
            journal=episode.journal.path,
            stats=stats,
        )

    @property
    def is_over(self) -> bool:
        return self.outcome is not None

    @property
    def initial_balance(self) -> LedgerBalance:
        """The balance of the ledger before the first step."""
        return LedgerBalance(potential=self.initial_potential, costs=0.0, damaged=(), rejections=0, return_=0.0)

    def facts(self, name: str) -> EpisodeFacts:
        """Return the facts of the episode for lists."""
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
            failed=list(self.verdict.failed),
        )

    def injection_infos(self) -> list[InjectionInfo]:
        """Return the injected obstacles."""
        return [
            InjectionInfo(
                kind=injection.kind.value,
                mark=injection.mark.value,
                entity=injection.entity,
                detail=dict(injection.detail),
            )
            for injection in self.injections
        ]
