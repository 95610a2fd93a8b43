"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from companyos_players import Objection, RecordSkill, Worker
from companyos_players.adversaries.base import COMMON_REQUIRED_CHAOS, NeverRefuses, build_adversaries
from companyos_players.fair.customer_refund import CustomerRefundWorker


class SuspectsEveryone(CustomerRefundWorker):
    """Reports every claim as fraud after reading only the claim."""

    async def investigate(self) -> None:
        self.hub = RecordSkill(self.client)
        self.claim = await self.find_claim()
        self.customer = {"id": self.claim["fields"]["customer_id"]}

    async def objection(self) -> Objection | None:
        return Objection("fraud_suspected", self.claim["id"], "This is surely fraud.")


class PaysAtOnce(NeverRefuses, CustomerRefundWorker):
    """Sets the claim to paid once the amount is approved."""

    async def follow_up(self, request_id: str) -> None:
        await super().follow_up(request_id)
        await self.hub.update(self.subject(), state="paid")


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "cry_fraud": SuspectsEveryone,
    "pay_at_once": PaysAtOnce,
}
ADVERSARIES = build_adversaries(CustomerRefundWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = COMMON_REQUIRED_CHAOS
