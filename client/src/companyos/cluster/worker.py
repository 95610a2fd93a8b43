"""Worker of a Ray cluster, and the episodes that it returns."""

from __future__ import annotations

import asyncio
import pickle
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from companyos.client import CompanyOSEnv
from companyos.contract import Outcome
from companyos.enterprise import Enterprise, EnterpriseError
from companyos.policies import PolicyUnavailableError
from companyos.runner import EpisodePlan, PlayedEpisode
from companyos.runner.batch import PolicyFactory, attach_evidence
from companyos.runner.episode import ResetRejectedError, play_episode
from companyos.trainer import Trainer

PLAN = "plan"
RESULT = "result"
"""Column names; the values are pickled."""


@dataclass(frozen=True)
class ClusterResult:
    """A played episode, its evidence, and the node that played it."""

    played: PlayedEpisode
    evidence: dict[str, Any] | None
    node: str


class ClusterWorker:
    """Ray actor that plays batches of plans concurrently and restarts its server if it has exited.

    If its node is lost, Ray starts the actor elsewhere. The server ends with this process.
    """

    def __init__(self, make_policy: PolicyFactory, *, keeps_evidence: bool, episode_time_s: float | None) -> None:
        self._make_policy = make_policy
        self._episode_time_s = episode_time_s
        self._keeps_evidence = keeps_evidence
        self._node = socket.gethostname()
        self._enterprise: Enterprise | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[bytes]]:
        """Play the plans of a batch; an exception in place of a result ends the run."""
        results = asyncio.run(self._play_all([pickle.loads(plan) for plan in batch[PLAN]]))  # noqa: S301 - from this run
        return {RESULT: [pickle.dumps(result) for result in results]}

    async def _play_all(self, plans: Sequence[EpisodePlan]) -> list[ClusterResult | Exception]:
        url = self._running_enterprise().url
        return await asyncio.gather(*(self._play(url, plan) for plan in plans))

    async def _play(self, url: str, plan: EpisodePlan) -> ClusterResult | Exception:
        async with CompanyOSEnv(base_url=url) as env, Trainer(url) as trainer:
            try:
                policy = self._make_policy(plan.policy)
                played = await play_episode(env, plan, policy, time_limit_s=self._episode_time_s)
            except (PolicyUnavailableError, ResetRejectedError) as error:
                return error
            if played.record.outcome is Outcome.INFRA_ERROR and self._has_ended():
                raise EnterpriseError("the server of this worker has exited")
            evidence = None
            if self._keeps_evidence:
                played, evidence = await attach_evidence(trainer, played)
        return ClusterResult(played, evidence, self._node)

    def _running_enterprise(self) -> Enterprise:
        """Return the running server, restarted if it has exited."""
        if self._enterprise is not None and self._has_ended():
            self._enterprise.stop()
            self._enterprise = None
        if self._enterprise is None:
            self._enterprise = Enterprise(alone=True).__enter__()
        return self._enterprise

    def _has_ended(self) -> bool:
        try:
            if self._enterprise is not None:
                self._enterprise.check_alive()
        except EnterpriseError:
            return True
        return False
