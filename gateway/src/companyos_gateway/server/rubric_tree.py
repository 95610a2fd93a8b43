"""The verdict on an episode as OpenEnv's rubrics: what a step paid, and below it every check and milestone by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from openenv.core.rubrics.base import Rubric
from openenv.core.rubrics.containers import RubricDict

from companyos_gateway.engine.episode import Episode
from companyos_gateway.evaluation import Milestone, Verdict


class Finding(Rubric):
    """Whether one thing holds in the evidence so far: 1 or 0."""

    def __init__(self, holds: Callable[[], bool]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._holds = holds

    def forward(self, action: Any, observation: Any) -> float:
        """Look once more."""
        return float(self._holds())


class Findings(RubricDict):
    """Findings by name; its own score is the share of them that hold."""

    def __init__(self, findings: Mapping[str, Callable[[], bool]]) -> None:
        super().__init__({name: Finding(holds) for name, holds in findings.items()})

    def forward(self, action: Any, observation: Any) -> float:
        """Look at each."""
        scores = [finding(action, observation) for finding in self.children()]
        return sum(scores) / len(scores) if scores else 1.0


class EpisodeRubric(Rubric):
    """The reward of an episode's last step; `checks`, `milestones` and `undamaged` say what it rests on.

    Nothing is judged here: the scores below are read from the episode's verdict, whenever there is a new one.
    """

    def __init__(self, episode: Episode) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._episode = episode
        self._seen: Verdict | None = None
        self.checks = Findings({check.id: self._passed(at) for at, check in enumerate(self._verdict.checks)})
        self.milestones = Findings(
            {milestone.id: self._stands(milestone) for milestone in episode.task.instance.rubric.milestones}
        )
        self.undamaged = Finding(lambda: not self._verdict.damage)

    def forward(self, action: Any, observation: Any) -> float:
        """Return what the step paid."""
        if self._seen is not self._verdict:
            self._seen = self._verdict
            for part in self.children():
                part(action, observation)
        return float(observation.reward)

    @property
    def _verdict(self) -> Verdict:
        return self._episode.progress.verdict

    def _passed(self, at: int) -> Callable[[], bool]:
        return lambda: self._verdict.checks[at].passed

    def _stands(self, milestone: Milestone) -> Callable[[], bool]:
        return lambda: milestone.is_reached(self._episode.evidence)
