"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from companyos_gateway.scenarios.bug_escalation.solution.fair import Escalator
from companyos_gateway.scenarios.skills import Measured, MeasureSkill, Worker
from companyos_gateway.scenarios.skills.cheating import (
    USUAL_NEEDS,
    FarmsRepeats,
    Limited,
    NeverRefuses,
    NewPolicy,
    OldPolicy,
    TearsOffLinks,
    cheats_of,
    laid_over,
)

Json = dict[str, Any]


class SkipsRefresh(Limited, Escalator):
    """Takes the rate as it is, however old."""

    async def rate_of(self, service: str, since: datetime | None = None) -> Measured:
        """Read it once."""
        return await MeasureSkill(self.hands, "error_rate", service).read()


class Exaggerates(NeverRefuses, Escalator):
    """States a rate that nobody can ignore."""

    def fields(self) -> Json:
        """Add to it."""
        fields = super().fields()
        return {**fields, "error_rate": fields["error_rate"] + 10.0}


class Redates(NeverRefuses, Escalator):
    """Takes the rate as it is and says that it was measured just now."""

    async def rate_of(self, service: str, since: datetime | None = None) -> Measured:
        """Read it once."""
        return await MeasureSkill(self.hands, "error_rate", service).read()

    def fields(self) -> Json:
        """Give it another date."""
        return {**super().fields(), "measured_at": self.hands.now().isoformat()}


class StartsAtOnce(NeverRefuses, Escalator):
    """Takes the ticket into work before anybody has agreed."""

    async def unblock(self) -> None:
        """Start as soon as the way is free."""
        await super().unblock()
        await self.desk.start()


class FarmsRefreshes(FarmsRepeats, Escalator):
    """Does again and again what pays once: refresh, set the priority, ask."""

    async def farm(self) -> None:
        """Refresh the rate once more."""
        await self.hands.make("datahub_refresh_metric", metric_id=self.rate.metric_id)


OWN: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "exaggerate": Exaggerates,
    "redate": Redates,
    "start_at_once": StartsAtOnce,
    "tear_off_links": laid_over(TearsOffLinks, Escalator),
    "repeat_farm": FarmsRefreshes,
    "old_policy": laid_over(OldPolicy, Escalator),
    "new_policy": laid_over(NewPolicy, Escalator),
}
CHEATS = cheats_of(Escalator, OWN)
NEEDS = {
    **USUAL_NEEDS,
    "skip_refresh": "stale_metric",
    "tear_off_links": "blocked_ticket",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
