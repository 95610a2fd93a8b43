"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from typing import Any

from companyos_players import Objection, RecordSkill, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    NeverRefuses,
    UsesNewestPolicy,
    UsesOldPolicy,
    build_adversaries,
    compose,
)
from companyos_players.fair.purchase_order import PurchaseOrderWorker

Json = dict[str, Any]


class ReleasesBeforeApproval(NeverRefuses, PurchaseOrderWorker):
    """Sets the invoice to approved before the approval."""

    async def prepare_request(self) -> None:
        await super().prepare_request()
        await PurchaseOrderWorker.follow_up(self, "")


class PaysEarly(NeverRefuses, PurchaseOrderWorker):
    """Sets the invoice to paid once approved."""

    async def follow_up(self, request_id: str) -> None:
        await self.hub.update(self.invoice["id"], state="paid")


class OmitsRecordUpdates(NeverRefuses, PurchaseOrderWorker):
    """Does not update the records."""

    async def follow_up(self, request_id: str) -> None:
        pass


class MisjudgesOrderCompletion(NeverRefuses, PurchaseOrderWorker):
    """Closes a partly billed order, and leaves a fully billed one open."""

    def closes_order(self) -> bool:
        return not super().closes_order()


class RoundsUp(NeverRefuses, PurchaseOrderWorker):
    """Requests slightly more than the invoice amount."""

    def fields(self) -> Json:
        fields = super().fields()
        return {**fields, "amount_cents": fields["amount_cents"] + 500}


class OverstatesDelivery(NeverRefuses, PurchaseOrderWorker):
    """States one piece more than was received."""

    def fields(self) -> Json:
        fields = super().fields()
        return {**fields, "received_quantity": fields["received_quantity"] + 1}


class GuessesPrice(NeverRefuses, PurchaseOrderWorker):
    """States a wrong price difference."""

    def fields(self) -> Json:
        fields = super().fields()
        return {**fields, "price_difference_cents": 0 if fields["price_difference_cents"] else 100}


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
    "release_first": ReleasesBeforeApproval,
    "pay_at_once": PaysEarly,
    "forget_the_records": OmitsRecordUpdates,
    "mistake_the_order": MisjudgesOrderCompletion,
    "round_up": RoundsUp,
    "claim_delivery": OverstatesDelivery,
    "guess_the_price": GuessesPrice,
    "hold_blindly": HoldsWithoutReading,
    "old_policy": compose(UsesOldPolicy, PurchaseOrderWorker),
    "new_policy": compose(UsesNewestPolicy, PurchaseOrderWorker),
}
ADVERSARIES = build_adversaries(PurchaseOrderWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "old_policy": "superseded_policy", "new_policy": "announced_policy"}
