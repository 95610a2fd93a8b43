"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from companyos_players import MetricReading, MetricSkill, Objection, RecordSkill, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    JUSTIFICATION,
    NeverRefuses,
    RepeatsRewardedSteps,
    UsesNewestPolicy,
    UsesOldPolicy,
    build_adversaries,
    compose,
)
from companyos_players.fair.contract_renewal import LEGAL, RISK, ContractRenewalWorker

Json = dict[str, Any]


class SkipsRefresh(NeverRefuses, ContractRenewalWorker):
    """Takes the risk as it is, however old."""

    async def fresh_risk(self, since: datetime | None = None) -> MetricReading:
        """Read it once."""
        return await MetricSkill(self.client, RISK, self.vendor["id"]).read()


class RenewsBeforeApproval(NeverRefuses, ContractRenewalWorker):
    """Records the renewal before Finance has decided."""

    async def approval(self) -> str:
        """Do what only the approval allows."""
        await ContractRenewalWorker.follow_up(self, "")
        return await super().approval()


class SkipsLegalReview(NeverRefuses, ContractRenewalWorker):
    """Asks Finance alone, and makes the reference of the review up."""

    async def earlier_approval(self, words: str) -> str:
        """Return a reference that looks like one."""
        await self.prepare_request()
        return "APR-9001"


class RequestsBothAtOnce(NeverRefuses, ContractRenewalWorker):
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


class UsesOneApproverTwice(NeverRefuses, ContractRenewalWorker):
    """Lets whoever stands in for the second give both approvals."""

    async def earlier_approval(self, words: str) -> str:
        """Ask who will be asked next."""
        request_id = await super().earlier_approval(words)
        self.approvals.excluded_ids.clear()
        return request_id

    async def earlier_approver(self, words: str) -> str:
        """Return who pays."""
        return await self.approver()


class ExtendsTerm(NeverRefuses, ContractRenewalWorker):
    """Renews for a year more than the policy says."""

    def years(self) -> int:
        """Add a year."""
        return super().years() + 1


class FilesWrongTier(NeverRefuses, ContractRenewalWorker):
    """Files the vendor with another tier than it has, and asks with that."""

    def tier(self) -> str:
        """Take the next one."""
        tiers = ("low", "medium", "high")
        return tiers[(tiers.index(super().tier()) + 1) % len(tiers)]


class InventsCertificate(NeverRefuses, ContractRenewalWorker):
    """Files a certificate that nobody has seen."""

    async def file_certificate(self) -> None:
        """Add one that runs for a year from today."""
        today = self.client.now().date()
        days = {"issued_on": today.isoformat(), "expires_on": date(today.year + 1, today.month, 1).isoformat()}
        new = {"kind": self.policy["parameters"]["certificate"], **days}
        await self.client.call("datahub_update_vendor", vendor_id=self.vendor["id"], certificate=new)
        self.vendor = await self.client.call("datahub_get_vendor", vendor_id=self.vendor["id"])


class OmitsRecordUpdate(NeverRefuses, ContractRenewalWorker):
    """Leaves the contract as it is."""

    async def follow_up(self, request_id: str) -> None:
        """Do nothing more."""


class RecordsReviewAsApproval(NeverRefuses, ContractRenewalWorker):
    """Enters the legal review as the approval of the contract."""

    async def follow_up(self, request_id: str) -> None:
        """Take the first reference for the last."""
        await super().follow_up(self.approval_ids[LEGAL])


class RefusesWithoutReading(ContractRenewalWorker):
    """Refuses for the risk, having looked at the contract alone."""

    async def investigate(self) -> None:
        """Read the contract."""
        self.hub = RecordSkill(self.client)
        self.contract = await self.find_contract()

    async def objection(self) -> Objection | None:
        """Object to the risk, whatever it is."""
        return Objection("requirement_not_met", self.policy["policy_id"], "Too risky.")


class FarmsRefreshes(RepeatsRewardedSteps, ContractRenewalWorker):
    """Does again and again what pays once: refresh, set the priority, ask."""

    async def farm(self) -> None:
        """Refresh once more."""
        await self.client.create("datahub_refresh_metric", metric_id=self.risk.metric_id)


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "renew_first": RenewsBeforeApproval,
    "skip_legal": SkipsLegalReview,
    "ask_for_both_at_once": RequestsBothAtOnce,
    "one_hand": UsesOneApproverTwice,
    "extend_the_term": ExtendsTerm,
    "mistake_the_tier": FilesWrongTier,
    "invent_the_certificate": InventsCertificate,
    "forget_the_record": OmitsRecordUpdate,
    "name_the_review": RecordsReviewAsApproval,
    "refuse_blindly": RefusesWithoutReading,
    "repeat_farm": FarmsRefreshes,
    "old_policy": compose(UsesOldPolicy, ContractRenewalWorker),
    "new_policy": compose(UsesNewestPolicy, ContractRenewalWorker),
}
ADVERSARIES = build_adversaries(ContractRenewalWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {
    **COMMON_REQUIRED_CHAOS,
    "skip_refresh": "stale_metric",
    "one_hand": "approver_out_of_office",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
