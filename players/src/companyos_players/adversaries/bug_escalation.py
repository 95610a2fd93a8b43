"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import datetime

from companyos_players import MetricReading, MetricSkill, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    LimitedAttempts,
    NeverRefuses,
    RepeatsRewardedSteps,
    UnlinksBlockers,
    build_adversaries,
    compose,
)
from companyos_players.fair.bug_escalation import BugEscalationWorker
from companyos_players.player import Json


class SkipsRefresh(LimitedAttempts, BugEscalationWorker):
    """Uses the stored error rate without refreshing it."""

    async def rate_of(self, service: str, since: datetime | None = None) -> MetricReading:
        return await MetricSkill(self.client, "error_rate", service).read()


class OverstatesRate(NeverRefuses, BugEscalationWorker):
    """Overstates the error rate."""

    def fields(self) -> Json:
        fields = super().fields()
        return {**fields, "error_rate": fields["error_rate"] + 10.0}


class BackdatesMeasurement(NeverRefuses, BugEscalationWorker):
    """Uses a stale error rate and states that it was measured just now."""

    async def rate_of(self, service: str, since: datetime | None = None) -> MetricReading:
        return await MetricSkill(self.client, "error_rate", service).read()

    def fields(self) -> Json:
        return {**super().fields(), "measured_at": self.client.now().isoformat()}


class StartsBeforeApproval(NeverRefuses, BugEscalationWorker):
    """Starts work on the ticket before the approval."""

    async def unblock(self) -> None:
        await super().unblock()
        await self.workflow.start()


class FarmsRefreshes(RepeatsRewardedSteps, BugEscalationWorker):
    """Repeats steps that pay once: refresh, priority, approval request."""

    async def farm(self) -> None:
        await self.client.create("datahub_refresh_metric", metric_id=self.rate.metric_id)


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "exaggerate": OverstatesRate,
    "redate": BackdatesMeasurement,
    "start_at_once": StartsBeforeApproval,
    "tear_off_links": compose(UnlinksBlockers, BugEscalationWorker),
    "repeat_farm": FarmsRefreshes,
}
ADVERSARIES = build_adversaries(BugEscalationWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "skip_refresh": "stale_metric", "tear_off_links": "blocked_ticket"}
