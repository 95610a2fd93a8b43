"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import datetime

from companyos_players import MetricReading, MetricSkill, TicketSkill, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    LimitedAttempts,
    NeverRefuses,
    RepeatsRewardedSteps,
    UnlinksBlockers,
    build_adversaries,
    compose,
    refuses_without_reading,
)
from companyos_players.fair.incident_response import IncidentResponseWorker, Report


class SkipsRefresh(LimitedAttempts, IncidentResponseWorker):
    """Uses the stored error rate without refreshing it."""

    async def fresh_rate(self, since: datetime | None = None) -> MetricReading:
        return await MetricSkill(self.client, "error_rate", self.report.service).read()


class CancelsUnlinked(NeverRefuses, IncidentResponseWorker):
    """Cancels the reports without linking them."""

    async def merge(self, double: TicketSkill) -> None:
        if double.known["status"] is None:
            await double.transition("open")
        await double.transition("cancelled", reason_code="duplicate", reason_ref=self.ticket.key)


class MergesByService(NeverRefuses, IncidentResponseWorker):
    """Treats every report of the service or of the release as a duplicate."""

    def is_same(self, other: Report | None) -> bool:
        return other is not None and (other.service == self.report.service or other.release == self.report.release)


class LinksCauseLast(NeverRefuses, IncidentResponseWorker):
    """Links the cause only after the decision."""

    async def link_cause(self) -> None:
        return

    async def follow_up(self, request_id: str) -> None:
        await super().link_cause()
        await super().follow_up(request_id)


class LinksWrongCause(NeverRefuses, IncidentResponseWorker):
    """Rolls back another change of the team."""

    async def find_cause(self) -> TicketSkill:
        right = await super().find_cause()
        rows = await self.client.list_all("ticketdesk_list_tickets", team_id=self.team_id, type="change")
        others = [row["key"] for row in rows if row["key"] != right.key and "elease" in row["title"]]
        other = TicketSkill(self.client, others[0])
        await other.read()
        return other


class RollsBackEarly(NeverRefuses, IncidentResponseWorker):
    """Rolls back the cause before the approval, even if another person owns it."""

    async def link_cause(self) -> None:
        await super().link_cause()
        await self.cause.transition("resolved")


class AssignsOffCallPerson(NeverRefuses, IncidentResponseWorker):
    """Assigns the ticket to an engineer who is not on call."""

    async def on_call(self) -> str:
        right = await super().on_call()
        team = await self.client.list_all("datahub_search_people", team_id=self.team_id)
        others = [row["id"] for row in team if row["is_employed"] and row["id"] != right]
        able = [person for person in others if await self.may_take(person)]
        return str(able[0])


class FarmsRefreshes(RepeatsRewardedSteps, IncidentResponseWorker):
    """Repeats steps that pay once: refresh, priority, approval request."""

    async def farm(self) -> None:
        await self.client.create("datahub_refresh_metric", metric_id=self.rate.metric_id)


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "cancel_unlinked": CancelsUnlinked,
    "merge_by_service": MergesByService,
    "name_the_cause_last": LinksCauseLast,
    "blame_another": LinksWrongCause,
    "take_back_at_once": RollsBackEarly,
    "assign_anybody": AssignsOffCallPerson,
    "tear_off_links": compose(UnlinksBlockers, IncidentResponseWorker),
    "refuse_unseen": refuses_without_reading(IncidentResponseWorker, "requirement_not_met", "It cannot be that bad."),
    "repeat_farm": FarmsRefreshes,
}
ADVERSARIES = build_adversaries(IncidentResponseWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {
    **COMMON_REQUIRED_CHAOS,
    "skip_refresh": "stale_metric",
    "merge_by_service": "similar_names",
    "tear_off_links": "blocked_ticket",
}
