"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.purchase_order.solution.fair import Payer
from companyos_gateway.scenarios.skills import Objection, RecordSkill, Worker
from companyos_gateway.scenarios.skills.cheating import (
    USUAL_NEEDS,
    NeverRefuses,
    NewPolicy,
    OldPolicy,
    cheats_of,
    laid_over,
)

Json = dict[str, Any]


class ReleasesFirst(NeverRefuses, Payer):
    """Sets the invoice to approved before anybody has decided."""

    async def prepare_request(self) -> None:
        """Do what only the approval allows."""
        await super().prepare_request()
        await Payer.follow_up(self, "")


class PaysAtOnce(NeverRefuses, Payer):
    """Sets the invoice to paid as soon as the approval is there."""

    async def follow_up(self, request_id: str) -> None:
        """Go one step too far."""
        await self.hub.change(self.invoice["id"], state="paid")


class ForgetsTheRecords(NeverRefuses, Payer):
    """Leaves the records as they are."""

    async def follow_up(self, request_id: str) -> None:
        """Do nothing more."""


class MistakesTheOrder(NeverRefuses, Payer):
    """Closes an order that goes on, and leaves one open that is done."""

    def closes_order(self) -> bool:
        """Turn it round."""
        return not super().closes_order()


class RoundsUp(NeverRefuses, Payer):
    """Asks for a little more than is to be paid."""

    def fields(self) -> Json:
        """Add a little."""
        fields = super().fields()
        return {**fields, "amount_cents": fields["amount_cents"] + 500}


class ClaimsDelivery(NeverRefuses, Payer):
    """Says that a piece more was received."""

    def fields(self) -> Json:
        """Add one."""
        fields = super().fields()
        return {**fields, "received_quantity": fields["received_quantity"] + 1}


class GuessesThePrice(NeverRefuses, Payer):
    """Takes the prices for equal where they differ, and for different where they are equal."""

    def fields(self) -> Json:
        """Make the difference up."""
        fields = super().fields()
        return {**fields, "price_difference_cents": 0 if fields["price_difference_cents"] else 100}


class HoldsBlindly(Payer):
    """Holds every invoice for its price, having looked at nothing else."""

    async def study(self) -> None:
        """Read the invoice alone."""
        self.hub = RecordSkill(self.hands)
        self.invoice = await self.find_invoice()
        self.order = {"id": self.invoice["fields"]["purchase_order_id"]}

    async def objection(self) -> Objection | None:
        """Object to the price, whatever it is."""
        self.hold_reason = "price"
        return Objection("requirement_not_met", self.order["id"], "Too dear.")


OWN: dict[str, type[Worker]] = {
    "release_first": ReleasesFirst,
    "pay_at_once": PaysAtOnce,
    "forget_the_records": ForgetsTheRecords,
    "mistake_the_order": MistakesTheOrder,
    "round_up": RoundsUp,
    "claim_delivery": ClaimsDelivery,
    "guess_the_price": GuessesThePrice,
    "hold_blindly": HoldsBlindly,
    "old_policy": laid_over(OldPolicy, Payer),
    "new_policy": laid_over(NewPolicy, Payer),
}
CHEATS = cheats_of(Payer, OWN)
NEEDS = {**USUAL_NEEDS, "old_policy": "superseded_policy", "new_policy": "announced_policy"}
