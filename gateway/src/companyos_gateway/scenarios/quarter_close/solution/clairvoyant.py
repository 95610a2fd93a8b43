"""The clairvoyant oracle: it knows the case and does what it takes, looking only at what the episode makes."""

from __future__ import annotations

from typing import Any

from companyos.policies import Call
from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios.parts.knowing import Knowing
from companyos_gateway.scenarios.quarter_close.case import METRIC_KEY, TYPE_KEY, Case, Ground
from companyos_gateway.scenarios.quarter_close.scenario import stage
from companyos_gateway.scenarios.skills import Hands, RecordSkill, TicketSkill


async def play_seed(seed: int, chaos: int, call: Call) -> None:
    """Solve the case of a seed and chaos level."""
    await Clairvoyant(stage(seed, profile_for(chaos), {}).case, Hands(call)).work()


class Clairvoyant(Knowing[Case]):
    """Closes a quarter it knows."""

    type_key = TYPE_KEY

    def __init__(self, case: Case, hands: Hands) -> None:
        super().__init__(case, hands)
        self.hub = RecordSkill(hands)

    async def learn(self) -> None:
        """Look at what speaks against a close."""
        case = self.case
        if case.ground is Ground.OVERSPENT:
            await self.hub.read(case.line_id)
            await self.fields()
        for record_id in (case.void_id, case.void_order_id):
            if record_id is not None:
                await self.hub.read(record_id)
        if case.other_key is not None:
            await TicketSkill(self.hands, case.other_key).look()

    async def unblock(self) -> None:
        """Settle the papers and resolve the parts, then take the right way past the blocker."""
        for one in self.case.settled:
            more = {"fields": dict(one.fields)} if one.fields else {}
            await self.hub.change(one.record_id, state=one.state, **more)
        for key in self.case.step_keys:
            await TicketSkill(self.hands, key).move("resolved")
        await super().unblock()

    def subject(self) -> str:
        """Return the budget line."""
        return self.case.line_id

    async def fields(self) -> dict[str, Any]:
        """Return the fields of the request with the budget used of now."""
        case = self.case
        reading = await self.fresh(case.figure.reading, key=METRIC_KEY, subject=case.line_id)
        return {
            "budget_line_id": case.line_id,
            "invoices_cents": case.approved_cents,
            "invoices_held": case.held,
            METRIC_KEY: reading["value"],
            "measured_at": reading["as_of"],
        }

    async def follow_up(self, request_id: str) -> None:
        """Close the budget line."""
        spent = round(self.case.figure.reading.value * 100)
        await self.hub.change(self.case.line_id, state="closed", fields={"spent_cents": spent})
