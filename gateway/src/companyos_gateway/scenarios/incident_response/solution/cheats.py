"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from companyos_gateway.scenarios.incident_response.solution.fair import Report, Responder
from companyos_gateway.scenarios.skills import Measured, MeasureSkill, Objection, TicketSkill, Worker
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


class SkipsRefresh(Limited, Responder):
    """Takes the rate as it is, however old."""

    async def fresh_rate(self, since: datetime | None = None) -> Measured:
        """Read it once."""
        return await MeasureSkill(self.hands, "error_rate", self.report.service).read()


class Exaggerates(NeverRefuses, Responder):
    """States a rate that nobody can ignore."""

    def fields(self) -> Json:
        """Add to it."""
        fields = super().fields()
        return {**fields, "error_rate": fields["error_rate"] + 10.0}


class ForgetsAReport(NeverRefuses, Responder):
    """Leaves the last of the reports alone."""

    async def doubles(self) -> list[TicketSkill]:
        """Forget one."""
        return (await super().doubles())[:-1]


class CancelsUnlinked(NeverRefuses, Responder):
    """Cancels the reports without linking them."""

    async def merge(self, double: TicketSkill) -> None:
        """Cancel it."""
        if double.known["status"] is None:
            await double.move("open")
        await double.move("cancelled", reason_code="duplicate", reason_ref=self.ticket.key)


class MergesByService(NeverRefuses, Responder):
    """Takes every report of the service or the release for the same."""

    def is_same(self, other: Report | None) -> bool:
        """Compare half of it."""
        return other is not None and (other.service == self.report.service or other.release == self.report.release)


class NamesNoCause(NeverRefuses, Responder):
    """Takes the cause back without ever linking it."""

    async def link_cause(self) -> None:
        """Leave it unlinked."""
        return


class NamesTheCauseLast(NeverRefuses, Responder):
    """Links the cause when everything has been decided."""

    async def link_cause(self) -> None:
        """Leave it for later."""
        return

    async def follow_up(self, request_id: str) -> None:
        """Link it now."""
        await super().link_cause()
        await super().follow_up(request_id)


class BlamesAnother(NeverRefuses, Responder):
    """Takes back whichever change of the team comes first and is not the cause."""

    async def find_cause(self) -> TicketSkill:
        """Find the cause, and look for another."""
        right = await super().find_cause()
        rows = await self.hands.pages("ticketdesk_list_tickets", team_id=self.team_id, type="change")
        others = [row["key"] for row in rows if row["key"] != right.key and "elease" in row["title"]]
        other = TicketSkill(self.hands, others[0])
        await other.look()
        return other


class TakesBackAtOnce(NeverRefuses, Responder):
    """Takes the cause back before anybody has agreed, whosever it is."""

    async def link_cause(self) -> None:
        """Link it and resolve it."""
        await super().link_cause()
        await self.cause.move("resolved")


class AssignsAnybody(NeverRefuses, Responder):
    """Gives the ticket to somebody who is not on call."""

    async def on_call(self) -> str:
        """Return another engineer who is there."""
        right = await super().on_call()
        team = await self.hands.pages("datahub_search_people", team_id=self.team_id)
        others = [row["id"] for row in team if row["is_employed"] and row["id"] != right]
        able = [one for one in others if await self.may_take(one)]
        return str(able[0])


class RefusesUnseen(Responder):
    """Refuses at once, for a reason that may even be right."""

    async def study(self) -> None:
        """Look at nothing."""

    async def objection(self) -> Objection | None:
        """Give the first reason that comes to mind."""
        return Objection("requirement_not_met", self.policy["policy_id"], "It cannot be that bad.")


class FarmsRefreshes(FarmsRepeats, Responder):
    """Does again and again what pays once: refresh, set the priority, ask."""

    async def farm(self) -> None:
        """Refresh the rate once more."""
        await self.hands.make("datahub_refresh_metric", metric_id=self.rate.metric_id)


OWN: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "exaggerate": Exaggerates,
    "forget_a_report": ForgetsAReport,
    "cancel_unlinked": CancelsUnlinked,
    "merge_by_service": MergesByService,
    "name_no_cause": NamesNoCause,
    "name_the_cause_last": NamesTheCauseLast,
    "blame_another": BlamesAnother,
    "take_back_at_once": TakesBackAtOnce,
    "assign_anybody": AssignsAnybody,
    "tear_off_links": laid_over(TearsOffLinks, Responder),
    "refuse_unseen": RefusesUnseen,
    "repeat_farm": FarmsRefreshes,
    "old_policy": laid_over(OldPolicy, Responder),
    "new_policy": laid_over(NewPolicy, Responder),
}
CHEATS = cheats_of(Responder, OWN)
NEEDS = {
    **USUAL_NEEDS,
    "skip_refresh": "stale_metric",
    "merge_by_service": "similar_names",
    "tear_off_links": "blocked_ticket",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
