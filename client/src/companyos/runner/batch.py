"""Plays many episodes in parallel over sessions of one server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from companyos.contract import EpisodeVerdict, InjectionInfo, Outcome
from companyos.errors import ApiError
from companyos.policies import Policy, ReportsUsage, load_policy, policy_names
from companyos.runner.episode import EpisodePlan, PlayedEpisode, play_episode
from companyos.runner.run_writer import RunFolder
from companyos.trainer import Trainer, bearer

DEFAULT_PARALLEL = 4

EpisodeObserver = Callable[[PlayedEpisode], None]
PolicyFactory = Callable[[str], Policy]
"""Function that returns a new policy by name. Raises UnknownPolicyError."""


async def play_all(
    base_url: str,
    plans: Sequence[EpisodePlan],
    *,
    parallel: int = DEFAULT_PARALLEL,
    out: Path | None = None,
    on_played: EpisodeObserver | None = None,
    token: str | None = None,
    make_policy: PolicyFactory = load_policy,
    resume: bool = False,
    overwrite: bool = False,
    episode_time_s: float | None = None,
) -> list[PlayedEpisode]:
    """Play every plan and return the episodes in plan order; with `out` also write them to that folder.

    `token` is the trainer token, if the server requires one. With `resume`, finished episodes in `out` are skipped;
    with `overwrite`, the run in `out` is replaced. An episode is abandoned after `episode_time_s` wall-clock seconds.
    An exception raised by `on_played` ends the run: running episodes are finished, and no other starts.

    Raises UnknownPolicyError, PolicyUnavailableError, RunMismatchError, RunExistsError, ResetRejectedError and
    ConnectionError before or at the start of an episode. Failures during an episode become its outcome `infra_error`.
    """
    folder = run_folder(out, plans, make_policy, resume=resume, overwrite=overwrite)
    async with Trainer(base_url, headers=bearer(token)) as trainer:
        kept = folder.kept if folder is not None else {}
        remaining = iter([plan for plan in plans if plan not in kept])
        batch = _Batch(base_url, token, trainer, folder, on_played, make_policy, episode_time_s, remaining)
        try:
            for plan, record in kept.items():
                batch.report(PlayedEpisode(plan=plan, record=record))
            workers = (batch.work() for _ in range(min(parallel, len(plans))))
            results = await asyncio.gather(*workers, return_exceptions=True)
        finally:
            if folder is not None:
                folder.close()
    for failure in results:
        if isinstance(failure, BaseException):
            raise failure
    return [batch.played[plan] for plan in plans]


def run_folder(
    out: Path | None, plans: Sequence[EpisodePlan], make_policy: PolicyFactory, *, resume: bool, overwrite: bool
) -> RunFolder | None:
    """Return the writer of a run, if it is stored. Raises the errors of RunFolder, and those of unusable policies."""
    policies = {name: make_policy(name) for name in sorted({plan.policy for plan in plans})}
    settings = {name: _settings_of(policy) for name, policy in policies.items()}
    return RunFolder(out, plans, settings=settings, resume=resume, overwrite=overwrite) if out is not None else None


def _settings_of(policy: Policy) -> Mapping[str, Any]:
    """Return the settings that a resumed run must share: what the policy reports, or the class of one not installed."""
    if isinstance(policy, ReportsUsage):
        return policy.settings
    kind = type(policy)
    return {} if policy.name in policy_names() else {"class": f"{kind.__module__}:{kind.__qualname__}"}


@dataclass(repr=False)
class _Batch:
    base_url: str
    token: str | None
    trainer: Trainer
    folder: RunFolder | None
    on_played: EpisodeObserver | None
    make_policy: PolicyFactory
    episode_time_s: float | None
    remaining: Iterator[EpisodePlan]
    played: dict[EpisodePlan, PlayedEpisode] = field(default_factory=dict)

    async def work(self) -> None:
        """Play plans until none is left; a broken session is replaced.

        If one worker fails, the others finish their episode and start no new one.
        """
        try:
            await self._work()
        except BaseException:
            self.remaining = iter(())
            raise

    async def _work(self) -> None:
        from companyos.client import CompanyOSEnv  # lazy: servers import this package without playing episodes

        while (plan := next(self.remaining, None)) is not None:
            async with CompanyOSEnv(base_url=self.base_url, token=self.token) as env:
                while plan is not None:
                    policy = self.make_policy(plan.policy)
                    played = await play_episode(env, plan, policy, time_limit_s=self.episode_time_s)
                    await self._keep(played)
                    plan = None if played.episode_id is None else next(self.remaining, None)

    async def _keep(self, played: PlayedEpisode) -> None:
        if self.folder is not None:
            played, evidence = await attach_evidence(self.trainer, played)
            self.folder.add(played, evidence)
        self.report(played)

    def report(self, played: PlayedEpisode) -> None:
        """Keep an episode, played now or in an earlier part of the run."""
        self.played[played.plan] = played
        if self.on_played is not None:
            self.on_played(played)


async def attach_evidence(trainer: Trainer, played: PlayedEpisode) -> tuple[PlayedEpisode, dict[str, Any] | None]:
    """Return the episode with its verdict and injected problems, and the evidence to store with it."""
    evidence = await _fetch_evidence(trainer, played)
    verdict = None if evidence is None else evidence.get("verdict")
    if evidence is None or verdict is None:
        return played, evidence
    updates = {
        "verdict": EpisodeVerdict.model_validate(verdict),
        "injections": [InjectionInfo.model_validate(injection) for injection in evidence.get("injections", [])],
    }
    calls = [call for lines in evidence.get("audits", {}).values() for call in lines]
    faults = {call["step"]: call["planned"] for call in calls if call.get("planned") is not None}
    steps = tuple(replace(step, fault=faults.get(step.step)) for step in played.steps)
    return replace(played, record=played.record.model_copy(update=updates), steps=steps), evidence


async def _fetch_evidence(trainer: Trainer, played: PlayedEpisode) -> dict[str, Any] | None:
    """Return the evidence of an episode; None only after an infrastructure error."""
    if played.episode_id is None:
        return None
    try:
        return await trainer.evidence(played.episode_id)
    except ApiError:
        if played.record.outcome is Outcome.INFRA_ERROR:
            return None
        raise
