"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

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
    """Takes the days left as they are, however old."""

    async def fresh_days(self, since: datetime | None = None) -> MetricReading:
        """Read them once."""
        return await MetricSkill(self.client, "licence_days_left", self.licence["id"]).read()


class RenewsBeforeApproval(NeverRefuses, LicenseRenewalWorker):
    """Records the renewal before anybody has decided."""

    async def prepare_request(self) -> None:
        """Do what only the approval allows."""
        await super().prepare_request()
        await self.follow_up("")


class ExtendsTerm(NeverRefuses, LicenseRenewalWorker):
    """Renews for a year more than the policy says."""

    def new_end(self) -> date:
        """Add a year."""
        return super().new_end() + timedelta(days=365)


class AddsSeats(NeverRefuses, LicenseRenewalWorker):
    """Renews for a few seats more, to be on the safe side."""

    def seats(self) -> int:
        """Add five."""
        return super().seats() + 5


class OmitsRecordUpdate(NeverRefuses, LicenseRenewalWorker):
    """Leaves the record as it is."""

    async def follow_up(self, request_id: str) -> None:
        """Do nothing more."""


class ComputesDaysLeft(NeverRefuses, LicenseRenewalWorker):
    """Works out the days left from the record's end instead of asking the source."""

    def fields(self) -> Json:
        """Make the reading up."""
        now = self.client.now()
        left = (date.fromisoformat(self.licence["ends_on"]) - now.date()).days - 1
        return {**super().fields(), "licence_days_left": left, "days_left_as_of": now.isoformat()}


class FarmsRefreshes(RepeatsRewardedSteps, LicenseRenewalWorker):
    """Does again and again what pays once: refresh, set the priority, ask."""

    async def farm(self) -> None:
        """Refresh once more."""
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
