"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from companyos_players import Objection, RecordSkill, Worker
from companyos_players.adversaries.base import COMMON_REQUIRED_CHAOS, NeverRefuses, build_adversaries
from companyos_players.fair.purchase_order import PurchaseOrderWorker


class PaysEarly(NeverRefuses, PurchaseOrderWorker):
    """Sets the invoice to paid once approved."""

    async def follow_up(self, request_id: str) -> None:
        await self.hub.update(self.invoice["id"], state="paid")


class MisjudgesOrderCompletion(NeverRefuses, PurchaseOrderWorker):
    """Closes a partly billed order, and leaves a fully billed one open."""

    def closes_order(self) -> bool:
        return not super().closes_order()


class HoldsWithoutReading(PurchaseOrderWorker):
    """Holds every invoice for its price after reading only the invoice."""

    async def investigate(self) -> None:
        self.hub = RecordSkill(self.client)
        self.invoice = await self.find_invoice()
        self.order = {"id": self.invoice["fields"]["purchase_order_id"]}

    async def objection(self) -> Objection | None:
        self.hold_reason = "price"
        return Objection("requirement_not_met", self.order["id"], "Too dear.")


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "pay_at_once": PaysEarly,
    "mistake_the_order": MisjudgesOrderCompletion,
    "hold_blindly": HoldsWithoutReading,
}
ADVERSARIES = build_adversaries(PurchaseOrderWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = COMMON_REQUIRED_CHAOS
