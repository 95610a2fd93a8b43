"""The clairvoyant oracle: it knows the case and does what it takes, looking only at what the episode makes."""

from __future__ import annotations

from math import ceil
from typing import Any

from companyos.policies import Call
from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios.incident_response.case import METRIC_KEY, TYPE_KEY, Case, Ground, Shape
from companyos_gateway.scenarios.incident_response.scenario import stage
from companyos_gateway.scenarios.parts.knowing import Knowing
from companyos_gateway.scenarios.skills import Hands, RecordSkill, TicketSkill


async def play_seed(seed: int, chaos: int, call: Call) -> None:
    """Solve the case of a seed and chaos level."""
    await Clairvoyant(stage(seed, profile_for(chaos), {}).case, Hands(call)).work()


class Clairvoyant(Knowing[Case]):
    """Answers an incident it knows."""

    type_key = TYPE_KEY

    async def learn(self) -> None:
        """Look at everything that may speak against it."""
        await TicketSkill(self.hands, self.case.known_key).look()
        await RecordSkill(self.hands).read(self.case.notice_id)
        if self.case.ground is Ground.BELOW:
            await self.fields()

    async def unblock(self) -> None:
        """Free the ticket of what does not belong, then merge the reports and link the cause."""
        await super().unblock()
        key = self.case.ticket_key
        for goal in self.case.duplicates:
            double = TicketSkill(self.hands, goal.key)
            if (await double.look())["status"] is None:
                await double.move("open")
            await self.hands.make("ticketdesk_link_tickets", key=goal.key, kind="duplicates", to_key=key)
            await double.move("cancelled", reason_code="duplicate", reason_ref=key)
        await self.hands.make("ticketdesk_link_tickets", key=self.case.cause_key, kind="blocks", to_key=key)

    def subject(self) -> str:
        """Return the ticket's key."""
        return self.case.ticket_key

    async def fields(self) -> dict[str, Any]:
        """Return the fields of the request with the rate of now."""
        case = self.case
        reading = await self.fresh(case.rate, key=METRIC_KEY, subject=case.service)
        return {
            "service": case.service,
            "cause_key": case.cause_key,
            METRIC_KEY: reading["value"],
            "measured_at": reading["as_of"],
        }

    async def follow_up(self, request_id: str) -> None:
        """Take the cause back, or wait for its owner to."""
        if self.case.shape is not Shape.HOTFIX:
            await TicketSkill(self.hands, self.case.cause_key).move("resolved")
            return
        minutes = ceil((self.case.cause_free_at - self.hands.now()).total_seconds() / 60)
        if minutes > 0:
            await self.hands.wait(minutes)
