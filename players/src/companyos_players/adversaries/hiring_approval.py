"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from companyos_players import Objection, Worker
from companyos_players.adversaries.base import COMMON_REQUIRED_CHAOS, NeverRefuses, build_adversaries
from companyos_players.fair.hiring_approval import HiringApprovalWorker
from companyos_players.player import Json


class TakesOtherOffer(NeverRefuses, HiringApprovalWorker):
    """Uses a draft offer for the same job in another cost center."""

    async def find_offer(self, text: str) -> Json:
        offer = await super().find_offer(text)
        rows = await self.hub.find(query=offer["title"], kind="job_offer", state="draft")
        others = [await self.hub.read(row["id"]) for row in rows if row["title"] == offer["title"]]
        return next(one for one in others if one["fields"]["cost_center"] != offer["fields"]["cost_center"])


class AsksHiringManager(NeverRefuses, HiringApprovalWorker):
    """Lets the hiring manager approve their own offer, as the approver's deputy."""

    async def approver(self) -> str:
        return str(self.position["owner_id"])


class RefusesUnread(HiringApprovalWorker):
    """Refuses because of the background check, which it has found but not read."""

    async def objection(self) -> Objection | None:
        application = self.draft["application"]
        rows = await self.hub.find(query=application, kind="document", state="published")
        check_id = next((row["id"] for row in rows if application in row["title"]), self.position["id"])
        return Objection("requirement_not_met", check_id, "The background check has a flaw.")


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "take_other_offer": TakesOtherOffer,
    "ask_hiring_manager": AsksHiringManager,
    "refuse_unread": RefusesUnread,
}
ADVERSARIES = build_adversaries(HiringApprovalWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "take_other_offer": "similar_names"}
