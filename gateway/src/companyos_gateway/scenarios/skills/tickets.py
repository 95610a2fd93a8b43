"""Handling tickets: every change is made once, however bad the connection."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.skills.hands import Hands

Json = dict[str, Any]


class TicketSkill:
    """Changes one ticket, and keeps what is known of it up to date."""

    def __init__(self, hands: Hands, key: str) -> None:
        self.hands = hands
        self.key = key
        self.known: Json = {}

    async def look(self) -> Json:
        """Read the ticket."""
        self.known = await self.hands.ask("ticketdesk_get_ticket", key=self.key)
        return self.known

    async def move(self, to: str, **reason: str) -> None:
        """Move the ticket to a status."""
        await self._change("transition_ticket", "status", to, to=to, **reason)

    async def prioritise(self, priority: str) -> None:
        """Set the priority."""
        await self._set("update_ticket", priority=priority)

    async def assign(self, person_id: str) -> None:
        """Assign a person."""
        await self._set("assign_ticket", assignee_id=person_id)

    async def verify(self) -> None:
        """Verify the ticket."""
        await self._change("verify_ticket", "verified", wanted=True)

    async def link_approval(self, reference: str) -> None:
        """Record the approval on the ticket."""
        await self._set("link_approval", approval_ref=reference)

    async def tick(self, item_id: str) -> None:
        """Complete a step of the checklist."""

        async def is_ticked() -> bool:
            items = (await self._read())["checklist"]
            return any(item["id"] == item_id and item["done_at"] for item in items)

        await self._do("complete_checklist_item", is_ticked, item_id=item_id)

    async def unlink(self, link_id: str, why: str) -> None:
        """Take a link off the ticket."""

        async def is_gone() -> bool:
            return all(link["id"] != link_id for link in (await self._read())["links"])

        await self._do("unlink_tickets", is_gone, link_id=link_id, justification=why)

    async def _set(self, tool: str, **members: str) -> None:
        """Set members of the ticket; doing it twice is doing it once."""
        await self.hands.ask(f"ticketdesk_{tool}", key=self.key, **members)
        self.known |= members

    async def _change(self, tool: str, member: str, wanted: object, **arguments: Any) -> None:
        async def is_so() -> bool:
            return bool((await self._read())[member] == wanted)

        await self._do(tool, is_so, **arguments)
        self.known[member] = wanted

    async def _do(self, tool: str, is_done: Any, **arguments: Any) -> None:
        await self.hands.change(f"ticketdesk_{tool}", is_done, key=self.key, **arguments)

    async def _read(self) -> Json:
        ticket: Json = await self.hands.ask("ticketdesk_get_ticket", key=self.key)
        return ticket
