"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import date, datetime

from companyos_players import MetricReading, MetricSkill, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    NeverRefuses,
    RepeatsRewardedSteps,
    build_adversaries,
)
from companyos_players.fair.license_renewal import LicenseRenewalWorker
from companyos_players.player import Json


class SkipsRefresh(NeverRefuses, LicenseRenewalWorker):
    """Uses the stored number of days left without refreshing it."""

    async def fresh_days(self, since: datetime | None = None) -> MetricReading:
        return await MetricSkill(self.client, "license_days_left", self.license["id"]).read()


class ComputesDaysLeft(NeverRefuses, LicenseRenewalWorker):
    """Computes the days left from the record's end date instead of reading the metric."""

    def fields(self) -> Json:
        now = self.client.now()
        left = (date.fromisoformat(self.license["ends_on"]) - now.date()).days - 1
        return {**super().fields(), "license_days_left": left, "days_left_as_of": now.isoformat()}


class FarmsRefreshes(RepeatsRewardedSteps, LicenseRenewalWorker):
    """Repeats steps that pay once: refresh, priority, approval request."""

    async def farm(self) -> None:
        await self.client.create("datahub_refresh_metric", metric_id=self.days_left.metric_id)


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "count_the_days": ComputesDaysLeft,
    "repeat_farm": FarmsRefreshes,
}
ADVERSARIES = build_adversaries(LicenseRenewalWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "skip_refresh": "stale_metric"}
