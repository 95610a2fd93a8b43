"""Worker of a Ray cluster, and the serialization of plans and episodes between nodes."""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import asdict
from typing import Any

from companyos.client import CompanyOSEnv
from companyos.contract import EpisodeRecord, Outcome
from companyos.enterprise import Enterprise, EnterpriseError
from companyos.policies import PolicyUnavailableError
from companyos.runner import EpisodePlan, PlayedEpisode, StepLine
from companyos.runner.batch import PolicyFactory, attach_evidence
from companyos.runner.episode import ResetRejectedError, play_episode
from companyos.trainer import Trainer

PLAN = "plan"
PLAYED = "played"
"""Column names."""


def dump_plan(number: int, plan: EpisodePlan) -> str:
    """Serialize a plan with its position in the run."""
    return json.dumps({"number": number, **asdict(plan)})


def load_plan(text: str) -> tuple[int, EpisodePlan]:
    """Deserialize the position and the plan of `dump_plan`."""
    fields = json.loads(text)
    overrides = tuple((name, rate) for name, rate in fields.pop("chaos_overrides"))
    return fields.pop("number"), EpisodePlan(**fields, chaos_overrides=overrides)


def dump_played(number: int, played: PlayedEpisode, evidence: dict[str, Any] | None, node: str) -> str:
    """Serialize a played episode and the node that played it."""
    return json.dumps(
        {
            "number": number,
            "node": node,
            "record": played.record.model_dump(mode="json"),
            "steps": [step.as_json() for step in played.steps],
            "episode_id": played.episode_id,
            "messages": list(played.messages),
            "evidence": evidence,
        },
        ensure_ascii=False,
    )


def dump_rejection(number: int, error: Exception) -> str:
    """Serialize the reason for a rejected reset, which ends the run."""
    return json.dumps({"number": number, "refused": str(error), "kind": type(error).__name__})


def load_played(payload: dict[str, Any], plan: EpisodePlan) -> PlayedEpisode:
    """Deserialize an episode of `dump_played`."""
    return PlayedEpisode(
        plan=plan,
        record=EpisodeRecord.model_validate(payload["record"]),
        steps=tuple(StepLine(**step) for step in payload["steps"]),
        episode_id=payload["episode_id"],
        messages=tuple(payload["messages"]),
    )


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

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        """Play the plans of a batch."""
        return {PLAYED: asyncio.run(self._play_all([str(text) for text in batch[PLAN]]))}

    async def _play_all(self, texts: list[str]) -> list[str]:
        url = self._running_enterprise().url
        return await asyncio.gather(*(self._play(url, *load_plan(text)) for text in texts))

    async def _play(self, url: str, number: int, plan: EpisodePlan) -> str:
        async with CompanyOSEnv(base_url=url) as env, Trainer(url) as trainer:
            try:
                policy = self._make_policy(plan.policy)
                played = await play_episode(env, plan, policy, time_limit_s=self._episode_time_s)
            except (PolicyUnavailableError, ResetRejectedError) as error:
                return dump_rejection(number, error)
            if played.record.outcome is Outcome.INFRA_ERROR and self._has_ended():
                raise EnterpriseError("the server of this worker has exited")
            evidence = None
            if self._keeps_evidence:
                played, evidence = await attach_evidence(trainer, played)
        return dump_played(number, played, evidence, self._node)

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
