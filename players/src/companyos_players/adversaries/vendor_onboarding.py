"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from companyos_players import MetricReading, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    LimitedAttempts,
    RepeatsRewardedSteps,
    build_adversaries,
)
from companyos_players.fair.vendor_onboarding import VendorOnboardingWorker


class SkipsRefresh(LimitedAttempts, VendorOnboardingWorker):
    """Uses the stored score without refreshing it."""

    async def fresh_score(self, since: datetime | None = None) -> MetricReading:
        return await self.read_score()


class FabricatesScore(LimitedAttempts, VendorOnboardingWorker):
    """Invents a passing score."""

    async def fresh_score(self, since: datetime | None = None) -> MetricReading:
        minimum = self.policy["parameters"]["minimum_compliance_score"]
        return MetricReading("", minimum + 7.5, self.client.now(), is_stale=False, source_id="")

    async def approval(self) -> str:
        self.score = replace(self.score, as_of=self.client.now() - timedelta(minutes=5))
        return await super().approval()


class FarmsRefreshes(RepeatsRewardedSteps, VendorOnboardingWorker):
    """Repeats steps that pay once: refresh, priority, verification, approval request."""

    async def farm(self) -> None:
        await self.client.create("datahub_refresh_metric", metric_id=self.score.metric_id)


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "fabricate": FabricatesScore,
    "repeat_farm": FarmsRefreshes,
}
ADVERSARIES = build_adversaries(VendorOnboardingWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "skip_refresh": "stale_metric"}
