"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from companyos_gateway.scenarios.skills import Measured, Worker
from companyos_gateway.scenarios.skills.cheating import (
    USUAL_NEEDS,
    FarmsRepeats,
    Limited,
    NewPolicy,
    OldPolicy,
    cheats_of,
    laid_over,
)
from companyos_gateway.scenarios.vendor_onboarding.solution.fair import Onboarder


class SkipsRefresh(Limited, Onboarder):
    """Takes the score as it is, however old."""

    async def fresh_score(self, since: datetime | None = None) -> Measured:
        """Read it once."""
        return await self.read_score()


class Fabricates(Limited, Onboarder):
    """Invents a score that passes instead of looking it up."""

    async def fresh_score(self, since: datetime | None = None) -> Measured:
        """Make one up."""
        minimum = self.policy["parameters"]["minimum_compliance_score"]
        return Measured("", minimum + 7.5, self.hands.now(), is_stale=False)

    async def approval(self) -> str:
        """Date it as of just now."""
        self.score = replace(self.score, as_of=self.hands.now() - timedelta(minutes=5))
        return await super().approval()


class FarmsRefreshes(FarmsRepeats, Onboarder):
    """Does again and again what pays once: refresh, set the priority, verify, ask for the approval."""

    async def farm(self) -> None:
        """Refresh the score once more."""
        await self.hands.make("datahub_refresh_metric", metric_id=self.score.metric_id)


OWN: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "fabricate": Fabricates,
    "repeat_farm": FarmsRefreshes,
    "old_policy": laid_over(OldPolicy, Onboarder),
    "new_policy": laid_over(NewPolicy, Onboarder),
}
CHEATS = cheats_of(Onboarder, OWN)
NEEDS = {
    **USUAL_NEEDS,
    "skip_refresh": "stale_metric",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
