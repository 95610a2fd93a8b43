"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.purchase_order.case import TYPE_KEY, Case, RefusalGround, Variant
from companyos_players import RecordSkill, ToolClient
from verification.privileged.oracle import PrivilegedOracle

INSPECTION_WAIT_MINUTES = 1440


class PurchaseOrderPrivilegedOracle(PrivilegedOracle[Case]):
    """Handles a known invoice."""

    type_key = TYPE_KEY

    def __init__(self, case: Case, client: ToolClient) -> None:
        super().__init__(case, client)
        self.hub = RecordSkill(client)

    async def learn(self) -> None:
        """Read the documents, and stop the invoice."""
        case = self.case
        for record_id in (case.invoice_id, case.order_id, *case.receipt_ids, case.paid_twin_id):
            if record_id is not None:
                await self.hub.read(record_id)
        if case.ground is RefusalGround.DUPLICATE:
            await self.hub.update(case.invoice_id, state="rejected")
        elif case.ground is not None:
            await self.hub.update(case.invoice_id, state="on_hold", fields={"hold_reason": case.ground.value})

    def subject(self) -> str:
        """Return the invoice."""
        return self.case.invoice_id

    async def fields(self) -> dict[str, Any]:
        """Wait for acceptance and credit, and return the fields of the request."""
        case = self.case
        receipts = [await self.hub.read(record_id) for record_id in case.receipt_ids]
        while case.variant is Variant.INSPECTED and any(receipt["state"] != "accepted" for receipt in receipts):
            await self.client.wait(INSPECTION_WAIT_MINUTES)
            receipts = [await self.hub.read(record_id) for record_id in case.receipt_ids]
        if case.credited:
            await self.hub.update(case.invoice_id, fields=dict(case.credited))
        return {
            "invoice_id": case.invoice_id,
            "order_id": case.order_id,
            "amount_cents": case.amount_cents,
            "received_quantity": sum(receipt["fields"]["quantity"] for receipt in receipts),
            "invoiced_before": case.invoiced_before,
            "price_difference_cents": case.price_difference_cents,
        }

    async def follow_up(self, request_id: str) -> None:
        """Set the invoice to approved, and a fully billed order to closed."""
        await self.hub.update(self.case.invoice_id, state="approved")
        if self.case.closes_order:
            await self.hub.update(self.case.order_id, state="closed")


ORACLE = PurchaseOrderPrivilegedOracle
