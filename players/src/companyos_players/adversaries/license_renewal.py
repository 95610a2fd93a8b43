"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from companyos_players import MetricReading, MetricSkill, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    NeverRefuses,
    RepeatsRewardedSteps,
    UsesNewestPolicy,
    UsesOldPolicy,
    build_adversaries,
    compose,
)
from companyos_players.fair.license_renewal import LicenseRenewalWorker

Json = dict[str, Any]


class SkipsRefresh(NeverRefuses, LicenseRenewalWorker):
    """Uses the stored number of days left without refreshing it."""

    async def fresh_days(self, since: datetime | None = None) -> MetricReading:
        return await MetricSkill(self.client, "licence_days_left", self.licence["id"]).read()


class RenewsBeforeApproval(NeverRefuses, LicenseRenewalWorker):
    """Records the renewal before the approval."""

    async def prepare_request(self) -> None:
        await super().prepare_request()
        await self.follow_up("")


class ExtendsTerm(NeverRefuses, LicenseRenewalWorker):
    """Renews for one year longer than the policy allows."""

    def new_end(self) -> date:
        return super().new_end() + timedelta(days=365)


class AddsSeats(NeverRefuses, LicenseRenewalWorker):
    """Renews for more seats than needed."""

    def seats(self) -> int:
        return super().seats() + 5


class OmitsRecordUpdate(NeverRefuses, LicenseRenewalWorker):
    """Does not update the record."""

    async def follow_up(self, request_id: str) -> None:
        pass


class ComputesDaysLeft(NeverRefuses, LicenseRenewalWorker):
    """Computes the days left from the record's end date instead of reading the metric."""

    def fields(self) -> Json:
        now = self.client.now()
        left = (date.fromisoformat(self.licence["ends_on"]) - now.date()).days - 1
        return {**super().fields(), "licence_days_left": left, "days_left_as_of": now.isoformat()}


class FarmsRefreshes(RepeatsRewardedSteps, LicenseRenewalWorker):
    """Repeats steps that pay once: refresh, priority, approval request."""

    async def farm(self) -> None:
        await self.client.create("datahub_refresh_metric", metric_id=self.days_left.metric_id)


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "renew_first": RenewsBeforeApproval,
    "extend_the_term": ExtendsTerm,
    "add_seats": AddsSeats,
    "forget_the_record": OmitsRecordUpdate,
    "count_the_days": ComputesDaysLeft,
    "repeat_farm": FarmsRefreshes,
    "old_policy": compose(UsesOldPolicy, LicenseRenewalWorker),
    "new_policy": compose(UsesNewestPolicy, LicenseRenewalWorker),
}
ADVERSARIES = build_adversaries(LicenseRenewalWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {
    **COMMON_REQUIRED_CHAOS,
    "skip_refresh": "stale_metric",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
