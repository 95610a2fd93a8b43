"""What runs on a node: an enterprise, and a session for each of the episodes that are played there at once."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from companyos.client import CompanyOSEnv
from companyos.cluster.rows import PLAN, PLAYED, played_text, read_plan, refusal_text
from companyos.contract import Outcome
from companyos.enterprise import Enterprise, EnterpriseFailed
from companyos.policies import CannotPlay
from companyos.runner.batch import PolicyMaker, with_evidence
from companyos.runner.episode import EpisodePlan, ResetRefused, play_episode
from companyos.trainer import Trainer


class ClusterWorker:
    """Plays batches of plans, all of a batch at once. An enterprise that has ended is started anew.

    Ray starts it, and starts it again elsewhere when its node is lost: the enterprise ends with this process.
    """

    def __init__(self, make_policy: PolicyMaker, *, keeps_evidence: bool) -> None:
        self._make_policy = make_policy
        self._keeps_evidence = keeps_evidence
        self._node = socket.gethostname()
        self._enterprise: Enterprise | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        """Play the plans of a batch."""
        return {PLAYED: asyncio.run(self._play_all([str(text) for text in batch[PLAN]]))}

    async def _play_all(self, texts: list[str]) -> list[str]:
        url = self._living().url
        return await asyncio.gather(*(self._played(url, *read_plan(text)) for text in texts))

    async def _played(self, url: str, number: int, plan: EpisodePlan) -> str:
        async with CompanyOSEnv(base_url=url) as env, Trainer(url) as trainer:
            try:
                played = await play_episode(env, plan, self._make_policy(plan.policy))
            except (CannotPlay, ResetRefused) as refusal:
                return refusal_text(number, refusal)
            if played.record.outcome is Outcome.INFRA_ERROR and self._has_ended():
                raise EnterpriseFailed("the enterprise of this worker has ended")
            evidence = None
            if self._keeps_evidence:
                played, evidence = await with_evidence(trainer, played)
        return played_text(number, played, evidence, self._node)

    def _living(self) -> Enterprise:
        """Return the enterprise, started anew where it has ended."""
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
        except EnterpriseFailed:
            return True
        return False
