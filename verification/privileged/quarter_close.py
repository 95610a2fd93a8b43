"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.quarter_close.case import METRIC_KEY, TYPE_KEY, Case, RefusalGround
from companyos_players import RecordSkill, TicketSkill, ToolClient
from verification.privileged.oracle import PrivilegedOracle


class QuarterClosePrivilegedOracle(PrivilegedOracle[Case]):
    """Closes a known quarter."""

    type_key = TYPE_KEY

    def __init__(self, case: Case, client: ToolClient) -> None:
        super().__init__(case, client)
        self.hub = RecordSkill(client)

    async def learn(self) -> None:
        """Read the evidence against a close."""
        case = self.case
        if case.ground is RefusalGround.OVERSPENT:
            await self.hub.read(case.line_id)
            await self.fields()
        for record_id in (case.void_id, case.void_order_id):
            if record_id is not None:
                await self.hub.read(record_id)
        if case.other_key is not None:
            await TicketSkill(self.client, case.other_key).read()

    async def unblock(self) -> None:
        """Settle the documents and resolve the parts, then pass the blocker."""
        for record in self.case.settled:
            more = {"fields": dict(record.fields)} if record.fields else {}
            await self.hub.update(record.record_id, state=record.state, **more)
        for key in self.case.step_keys:
            await TicketSkill(self.client, key).transition("resolved")
        await super().unblock()

    def subject(self) -> str:
        """Return the budget line."""
        return self.case.line_id

    async def fields(self) -> dict[str, Any]:
        """Return the fields of the request with the current budget used."""
        case = self.case
        reading = await self.fresh(case.figure.spec, key=METRIC_KEY, subject=case.line_id)
        return {
            "budget_line_id": case.line_id,
            "invoices_cents": case.approved_cents,
            "invoices_held": case.held,
            METRIC_KEY: reading["value"],
            "measured_at": reading["as_of"],
        }

    async def follow_up(self, request_id: str) -> None:
        """Close the budget line."""
        spent = round(self.case.figure.spec.value * 100)
        await self.hub.update(self.case.line_id, state="closed", fields={"spent_cents": spent})


ORACLE = QuarterClosePrivilegedOracle
