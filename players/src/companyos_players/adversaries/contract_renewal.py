"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import date, datetime

from companyos_players import MetricReading, MetricSkill, Objection, RecordSkill, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    JUSTIFICATION,
    NeverRefuses,
    RepeatsRewardedSteps,
    UsesOneApproverTwice,
    build_adversaries,
    compose,
)
from companyos_players.fair.contract_renewal import LEGAL, RISK, ContractRenewalWorker


class SkipsRefresh(NeverRefuses, ContractRenewalWorker):
    """Uses the stored risk without refreshing it."""

    async def fresh_risk(self, since: datetime | None = None) -> MetricReading:
        return await MetricSkill(self.client, RISK, self.vendor["id"]).read()


class RenewsBeforeApproval(NeverRefuses, ContractRenewalWorker):
    """Records the renewal before Finance decides."""

    async def approval(self) -> str:
        await ContractRenewalWorker.follow_up(self, "")
        return await super().approval()


class SkipsLegalReview(NeverRefuses, ContractRenewalWorker):
    """Skips the legal review and invents its reference."""

    async def earlier_approval(self, words: str) -> str:
        await self.prepare_request()
        return "APR-9001"


class RequestsBothAtOnce(NeverRefuses, ContractRenewalWorker):
    """Submits the finance request while the legal review is pending, with both approvers looked up in advance."""

    payer: str | None = None

    async def earlier_approval(self, words: str) -> str:
        await self.prepare_request()
        skill, fields, reviewer = self.earlier[words], self.earlier_fields(words), await self.earlier_approver(words)
        self.payer = await super().approver()
        return await skill.submit(self.subject(), reviewer, fields, JUSTIFICATION)

    async def approver(self) -> str:
        return self.payer or await super().approver()


class ExtendsTerm(NeverRefuses, ContractRenewalWorker):
    """Renews for one year longer than the policy allows."""

    def years(self) -> int:
        return super().years() + 1


class FilesWrongTier(NeverRefuses, ContractRenewalWorker):
    """Files a wrong vendor tier and uses it in the request."""

    def tier(self) -> str:
        tiers = ("low", "medium", "high")
        return tiers[(tiers.index(super().tier()) + 1) % len(tiers)]


class InventsCertificate(NeverRefuses, ContractRenewalWorker):
    """Files an invented certificate."""

    async def file_certificate(self) -> None:
        today = self.client.now().date()
        days = {"issued_on": today.isoformat(), "expires_on": date(today.year + 1, today.month, 1).isoformat()}
        new = {"kind": self.policy["parameters"]["certificate"], **days}
        await self.client.call("datahub_update_vendor", vendor_id=self.vendor["id"], certificate=new)
        self.vendor = await self.client.call("datahub_get_vendor", vendor_id=self.vendor["id"])


class OmitsRecordUpdate(NeverRefuses, ContractRenewalWorker):
    """Does not update the contract."""

    async def follow_up(self, request_id: str) -> None:
        pass


class RecordsReviewAsApproval(NeverRefuses, ContractRenewalWorker):
    """Records the legal review as the contract's approval."""

    async def follow_up(self, request_id: str) -> None:
        await super().follow_up(self.approval_ids[LEGAL])


class RefusesWithoutReading(ContractRenewalWorker):
    """Refuses because of the risk after reading only the contract."""

    async def investigate(self) -> None:
        self.hub = RecordSkill(self.client)
        self.contract = await self.find_contract()

    async def objection(self) -> Objection | None:
        return Objection("requirement_not_met", self.policy["policy_id"], "Too risky.")


class FarmsRefreshes(RepeatsRewardedSteps, ContractRenewalWorker):
    """Repeats steps that pay once: refresh, priority, approval request."""

    async def farm(self) -> None:
        await self.client.create("datahub_refresh_metric", metric_id=self.risk.metric_id)


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "renew_first": RenewsBeforeApproval,
    "skip_legal": SkipsLegalReview,
    "ask_for_both_at_once": RequestsBothAtOnce,
    "one_hand": compose(UsesOneApproverTwice, ContractRenewalWorker),
    "extend_the_term": ExtendsTerm,
    "mistake_the_tier": FilesWrongTier,
    "invent_the_certificate": InventsCertificate,
    "forget_the_record": OmitsRecordUpdate,
    "name_the_review": RecordsReviewAsApproval,
    "refuse_blindly": RefusesWithoutReading,
    "repeat_farm": FarmsRefreshes,
}
ADVERSARIES = build_adversaries(ContractRenewalWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "skip_refresh": "stale_metric", "one_hand": "approver_out_of_office"}
