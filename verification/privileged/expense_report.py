"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.expense_report.case import TYPE_KEY, Case, Variant
from companyos_players import RecordSkill, ToolClient
from verification.privileged.oracle import PrivilegedOracle

RECEIPT_WAIT_MINUTES = 1440


class ExpenseReportPrivilegedOracle(PrivilegedOracle[Case]):
    """Handles a known expense report."""

    type_key = TYPE_KEY

    def __init__(self, case: Case, client: ToolClient) -> None:
        super().__init__(case, client)
        self.hub = RecordSkill(client)

    async def learn(self) -> None:
        """Read the refused data."""
        for record_id in (self.case.record_ids[0], self.case.paid_twin_id):
            if record_id is not None:
                await self.hub.read(record_id)

    def subject(self) -> str:
        """Return the first record."""
        return self.case.record_ids[0]

    async def fields(self) -> dict[str, Any]:
        """Add the receipt and return the fields of the request."""
        case, first = self.case, self.subject()
        if case.variant is Variant.FOUND:
            filed = {"receipt_attached": True, "receipt_total_cents": case.receipt_total_cents}
            await self.hub.update(first, fields=filed)
        while case.variant is Variant.COMES and not (await self.hub.read(first))["fields"]["receipt_attached"]:
            await self.client.wait(RECEIPT_WAIT_MINUTES)
        return {
            "expense_id": first,
            "amount_cents": case.amount_cents,
            "has_receipts": case.has_receipts,
            "records": len(case.record_ids),
        }

    async def follow_up(self, request_id: str) -> None:
        """Set each record to approved."""
        for record_id in self.case.record_ids:
            await self.hub.update(record_id, state="approved")


ORACLE = ExpenseReportPrivilegedOracle
