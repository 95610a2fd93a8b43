"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from math import ceil
from typing import Any

from companyos_gateway.scenarios.incident_response.case import METRIC_KEY, TYPE_KEY, Case, RefusalGround, Variant
from companyos_players import RecordSkill, TicketSkill
from verification.privileged.oracle import PrivilegedOracle


class IncidentResponsePrivilegedOracle(PrivilegedOracle[Case]):
    """Handles a known incident."""

    type_key = TYPE_KEY

    async def learn(self) -> None:
        """Read all possible evidence for a refusal."""
        await TicketSkill(self.client, self.case.known_key).read()
        await RecordSkill(self.client).read(self.case.notice_id)
        if self.case.ground is RefusalGround.BELOW:
            await self.fields()

    async def unblock(self) -> None:
        """Remove wrong blockers, merge the reports and link the cause."""
        await super().unblock()
        key = self.case.ticket_key
        for goal in self.case.duplicates:
            double = TicketSkill(self.client, goal.key)
            if (await double.read())["status"] is None:
                await double.transition("open")
            await self.client.create("ticketdesk_link_tickets", key=goal.key, kind="duplicates", to_key=key)
            await double.transition("cancelled", reason_code="duplicate", reason_ref=key)
        await self.client.create("ticketdesk_link_tickets", key=self.case.cause_key, kind="blocks", to_key=key)

    def subject(self) -> str:
        """Return the ticket's key."""
        return self.case.ticket_key

    async def fields(self) -> dict[str, Any]:
        """Return the fields of the request with the current rate."""
        case = self.case
        reading = await self.fresh(case.rate, key=METRIC_KEY, subject=case.service)
        return {
            "service": case.service,
            "cause_key": case.cause_key,
            METRIC_KEY: reading["value"],
            "measured_at": reading["as_of"],
        }

    async def follow_up(self, request_id: str) -> None:
        """Roll the cause back, or wait for its owner to."""
        if self.case.variant is not Variant.HOTFIX:
            await TicketSkill(self.client, self.case.cause_key).transition("resolved")
            return
        minutes = ceil((self.case.cause_free_at - self.client.now()).total_seconds() / 60)
        if minutes > 0:
            await self.client.wait(minutes)


ORACLE = IncidentResponsePrivilegedOracle
