"""The source of a viewed episode: a copy of its state, live or finished."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import isnan, nan
from pathlib import Path

from companyos.contract import EpisodeVerdict, Outcome, ResetOptions
from companyos.viewer import EpisodeFacts
from companyos_gateway.chaos import Injection
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.task_cache import TaskKey
from companyos_gateway.evaluation import FinishDeclaration


@dataclass(slots=True)
class StepTimes:
    """The durations of an episode's steps that this process took."""

    _milliseconds: array[float] = field(default_factory=lambda: array("f"))

    def record(self, number: int, milliseconds: float) -> None:
        """Record a step."""
        self._milliseconds.extend([nan] * (number - len(self._milliseconds)))
        self._milliseconds[number - 1] = milliseconds

    def milliseconds(self, number: int) -> float | None:
        """Return the duration of a step, None if it was not measured."""
        value = self._milliseconds[number - 1] if number <= len(self._milliseconds) else nan
        return None if isnan(value) else round(value, 1)


def episode_key(episode: Episode) -> str:
    """Return the key of an episode among the finished ones: internal id and epoch."""
    return f"{episode.internal_id}.{episode.epoch}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSource:
    """The state of an episode without its journal. Its size does not depend on the size of the company."""

    key: str
    """Key of the finished episode: internal id and epoch."""
    id: str
    internal_id: str
    epoch: int
    task_key: TaskKey
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
    verdict: EpisodeVerdict | None
    """None if the rubric raised an exception."""
    injections: Sequence[Injection]
    finish: FinishDeclaration | None
    journal: Path
    times: StepTimes

    @classmethod
    def from_episode(cls, episode: Episode, times: StepTimes) -> EpisodeSource:
        """Return the current state of an episode."""
        progress, instance = episode.progress, episode.task.instance
        return cls(
            key=episode_key(episode),
            id=episode.id,
            internal_id=episode.internal_id,
            epoch=episode.epoch,
            task_key=episode.task.key,
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
            verdict=progress.find_episode_verdict(episode.task),
            injections=instance.injections,
            finish=progress.finish,
            journal=episode.journal.path,
            times=times,
        )

    @property
    def is_over(self) -> bool:
        return self.outcome is not None

    def facts(self, name: str) -> EpisodeFacts:
        """Return the facts of the episode for lists."""
        return EpisodeFacts(
            name=name,
            scenario=self.task_key.scenario,
            seed=self.task_key.seed,
            chaos=self.task_key.chaos,
            task_id=self.task_id,
            outcome=self.outcome,
            success=self.outcome is Outcome.SUCCESS if self.is_over else None,
            return_=self.return_,
            steps=self.step,
            failed=[] if self.verdict is None else list(self.verdict.failed),
        )
