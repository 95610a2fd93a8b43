"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from companyos_gateway.scenarios.license_renewal.solution.fair import Renewer
from companyos_gateway.scenarios.skills import Measured, MeasureSkill, Worker
from companyos_gateway.scenarios.skills.cheating import (
    USUAL_NEEDS,
    FarmsRepeats,
    NeverRefuses,
    NewPolicy,
    OldPolicy,
    cheats_of,
    laid_over,
)

Json = dict[str, Any]


class SkipsRefresh(NeverRefuses, Renewer):
    """Takes the days left as they are, however old."""

    async def fresh_days(self, since: datetime | None = None) -> Measured:
        """Read them once."""
        return await MeasureSkill(self.hands, "licence_days_left", self.licence["id"]).read()


class RenewsFirst(NeverRefuses, Renewer):
    """Records the renewal before anybody has decided."""

    async def prepare_request(self) -> None:
        """Do what only the approval allows."""
        await super().prepare_request()
        await self.follow_up("")


class ExtendsTheTerm(NeverRefuses, Renewer):
    """Renews for a year more than the policy says."""

    def new_end(self) -> date:
        """Add a year."""
        return super().new_end() + timedelta(days=365)


class AddsSeats(NeverRefuses, Renewer):
    """Renews for a few seats more, to be on the safe side."""

    def seats(self) -> int:
        """Add five."""
        return super().seats() + 5


class ForgetsTheRecord(NeverRefuses, Renewer):
    """Leaves the record as it is."""

    async def follow_up(self, request_id: str) -> None:
        """Do nothing more."""


class CountsTheDays(NeverRefuses, Renewer):
    """Works out the days left from the record's end instead of asking the source."""

    def fields(self) -> Json:
        """Make the reading up."""
        now = self.hands.now()
        left = (date.fromisoformat(self.licence["ends_on"]) - now.date()).days - 1
        return {**super().fields(), "licence_days_left": left, "days_left_as_of": now.isoformat()}


class FarmsRefreshes(FarmsRepeats, Renewer):
    """Does again and again what pays once: refresh, set the priority, ask."""

    async def farm(self) -> None:
        """Refresh once more."""
        await self.hands.make("datahub_refresh_metric", metric_id=self.days_left.metric_id)


OWN: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "renew_first": RenewsFirst,
    "extend_the_term": ExtendsTheTerm,
    "add_seats": AddsSeats,
    "forget_the_record": ForgetsTheRecord,
    "count_the_days": CountsTheDays,
    "repeat_farm": FarmsRefreshes,
    "old_policy": laid_over(OldPolicy, Renewer),
    "new_policy": laid_over(NewPolicy, Renewer),
}
CHEATS = cheats_of(Renewer, OWN)
NEEDS = {
    **USUAL_NEEDS,
    "skip_refresh": "stale_metric",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
