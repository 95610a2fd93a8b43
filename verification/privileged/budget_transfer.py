"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.budget_transfer.case import TYPE_KEY, Case
from companyos_players import RecordSkill, RequestSkill, ToolClient
from verification.privileged.oracle import PrivilegedOracle


class BudgetTransferPrivilegedOracle(PrivilegedOracle[Case]):
    """Does a known transfer."""

    type_key = TYPE_KEY

    def __init__(self, case: Case, client: ToolClient) -> None:
        super().__init__(case, client)
        self.hub = RecordSkill(client)
        self.flow = RequestSkill(client)

    async def work(self) -> None:
        """End the partial requests, then do the work."""
        reason = self.case.parts_reason
        for part in self.case.own_parts:
            await self.flow.withdraw(part)
        for part in self.case.others_parts:
            await self.flow.cancel(part, reason.code, reason.references[-1])
        await super().work()

    async def learn(self) -> None:
        """Read the lines."""
        await self.hub.read(self.case.giver_id)
        await self.hub.read(self.case.taker_id)

    def subject(self) -> str:
        """Return the ticket's key."""
        return self.case.ticket_key

    async def fields(self) -> dict[str, Any]:
        """Return the fields of the request."""
        case = self.case
        return {"from_line": case.giver_id, "to_line": case.taker_id, "amount_cents": case.amount_cents}

    async def follow_up(self, request_id: str) -> None:
        """Book both lines."""
        case = self.case
        await self.hub.update(case.giver_id, fields={"budget_cents": case.giver_budget_cents})
        await self.hub.update(case.taker_id, fields={"budget_cents": case.taker_budget_cents})


ORACLE = BudgetTransferPrivilegedOracle
