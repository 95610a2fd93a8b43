"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from companyos_gateway.scenarios.contract_renewal.solution.fair import LEGAL, RISK, Buyer
from companyos_gateway.scenarios.skills import Measured, MeasureSkill, Objection, RecordSkill, Worker
from companyos_gateway.scenarios.skills.cheating import (
    JUSTIFICATION,
    USUAL_NEEDS,
    FarmsRepeats,
    NeverRefuses,
    NewPolicy,
    OldPolicy,
    cheats_of,
    laid_over,
)

Json = dict[str, Any]


class SkipsRefresh(NeverRefuses, Buyer):
    """Takes the risk as it is, however old."""

    async def fresh_risk(self, since: datetime | None = None) -> Measured:
        """Read it once."""
        return await MeasureSkill(self.hands, RISK, self.vendor["id"]).read()


class RenewsFirst(NeverRefuses, Buyer):
    """Records the renewal before Finance has decided."""

    async def approval(self) -> str:
        """Do what only the approval allows."""
        await Buyer.follow_up(self, "")
        return await super().approval()


class SkipsLegal(NeverRefuses, Buyer):
    """Asks Finance alone, and makes the reference of the review up."""

    async def earlier_approval(self, words: str) -> str:
        """Return a reference that looks like one."""
        await self.prepare_request()
        return "APR-9001"


class AsksForBothAtOnce(NeverRefuses, Buyer):
    """Asks Finance while the review still waits: everybody is looked up before, so that nobody has time to decide."""

    payer: str | None = None

    async def earlier_approval(self, words: str) -> str:
        """Ask and go on."""
        await self.prepare_request()
        skill, fields, reviewer = self.earlier[words], self.earlier_fields(words), await self.earlier_approver(words)
        self.payer = await super().approver()
        return await skill.submit(self.subject(), reviewer, fields, JUSTIFICATION)

    async def approver(self) -> str:
        """Return who was looked up."""
        return self.payer or await super().approver()


class OneHand(NeverRefuses, Buyer):
    """Lets whoever stands in for the second give both approvals."""

    async def earlier_approval(self, words: str) -> str:
        """Ask who will be asked next."""
        request_id = await super().earlier_approval(words)
        self.approvals.barred.clear()
        return request_id

    async def earlier_approver(self, words: str) -> str:
        """Return who pays."""
        return await self.approver()


class ExtendsTheTerm(NeverRefuses, Buyer):
    """Renews for a year more than the policy says."""

    def years(self) -> int:
        """Add a year."""
        return super().years() + 1


class MistakesTheTier(NeverRefuses, Buyer):
    """Files the vendor with another tier than it has, and asks with that."""

    def tier(self) -> str:
        """Take the next one."""
        tiers = ("low", "medium", "high")
        return tiers[(tiers.index(super().tier()) + 1) % len(tiers)]


class InventsTheCertificate(NeverRefuses, Buyer):
    """Files a certificate that nobody has seen."""

    async def file_certificate(self) -> None:
        """Add one that runs for a year from today."""
        today = self.hands.now().date()
        days = {"issued_on": today.isoformat(), "expires_on": date(today.year + 1, today.month, 1).isoformat()}
        new = {"kind": self.policy["parameters"]["certificate"], **days}
        await self.hands.ask("datahub_update_vendor", vendor_id=self.vendor["id"], certificate=new)
        self.vendor = await self.hands.ask("datahub_get_vendor", vendor_id=self.vendor["id"])


class ForgetsTheRecord(NeverRefuses, Buyer):
    """Leaves the contract as it is."""

    async def follow_up(self, request_id: str) -> None:
        """Do nothing more."""


class NamesTheReview(NeverRefuses, Buyer):
    """Enters the legal review as the approval of the contract."""

    async def follow_up(self, request_id: str) -> None:
        """Take the first reference for the last."""
        await super().follow_up(self.given[LEGAL])


class RefusesBlindly(Buyer):
    """Refuses for the risk, having looked at the contract alone."""

    async def study(self) -> None:
        """Read the contract."""
        self.hub = RecordSkill(self.hands)
        self.contract = await self.find_contract()

    async def objection(self) -> Objection | None:
        """Object to the risk, whatever it is."""
        return Objection("requirement_not_met", self.policy["policy_id"], "Too risky.")


class FarmsRefreshes(FarmsRepeats, Buyer):
    """Does again and again what pays once: refresh, set the priority, ask."""

    async def farm(self) -> None:
        """Refresh once more."""
        await self.hands.make("datahub_refresh_metric", metric_id=self.risk.metric_id)


OWN: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "renew_first": RenewsFirst,
    "skip_legal": SkipsLegal,
    "ask_for_both_at_once": AsksForBothAtOnce,
    "one_hand": OneHand,
    "extend_the_term": ExtendsTheTerm,
    "mistake_the_tier": MistakesTheTier,
    "invent_the_certificate": InventsTheCertificate,
    "forget_the_record": ForgetsTheRecord,
    "name_the_review": NamesTheReview,
    "refuse_blindly": RefusesBlindly,
    "repeat_farm": FarmsRefreshes,
    "old_policy": laid_over(OldPolicy, Buyer),
    "new_policy": laid_over(NewPolicy, Buyer),
}
CHEATS = cheats_of(Buyer, OWN)
NEEDS = {
    **USUAL_NEEDS,
    "skip_refresh": "stale_metric",
    "one_hand": "approver_out_of_office",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
