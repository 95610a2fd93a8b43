"""Ticket skills; each change is applied once, even over an unreliable connection."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from companyos_players.player import Json
from companyos_players.tool_client import ToolClient, ToolRefusedError


class TicketSkill:
    """Changes one ticket and tracks its state."""

    def __init__(self, client: ToolClient, key: str) -> None:
        self.client = client
        self.key = key
        self.known: Json = {}

    async def read(self) -> Json:
        """Read the ticket."""
        self.known = await self.client.call("ticketdesk_get_ticket", key=self.key)
        return self.known

    async def transition(self, to: str, **reason: str) -> None:
        """Move the ticket to a status."""
        await self._update_member("transition_ticket", "status", to, to=to, **reason)

    async def triage(self) -> None:
        """Open the ticket if it is untriaged. After a lost response, a colleague may have moved it on already."""

        async def is_triaged() -> bool:
            return (await self._read())["status"] is not None

        if self.known["status"] is None:
            await self._update_once("transition_ticket", is_triaged, to="open")
            self.known["status"] = "open"

    async def set_priority(self, priority: str) -> None:
        """Set the priority."""
        await self._update_fields("update_ticket", priority=priority)

    async def assign(self, person_id: str) -> None:
        """Assign a person."""
        await self._update_fields("assign_ticket", assignee_id=person_id)

    async def verify(self) -> None:
        """Verify the ticket."""
        await self._update_member("verify_ticket", "verified", value=True)

    async def link_approval(self, reference: str) -> None:
        """Record the approval on the ticket."""
        await self._update_fields("link_approval", approval_ref=reference)

    async def complete_item(self, item_id: str) -> None:
        """Complete a checklist item."""

        async def is_ticked() -> bool:
            items = (await self._read())["checklist"]
            return any(item["id"] == item_id and item["done_at"] for item in items)

        await self._update_once("complete_checklist_item", is_ticked, item_id=item_id)

    async def unlink(self, link_id: str, why: str) -> None:
        """Remove a link from the ticket."""

        async def is_gone() -> bool:
            return all(link["id"] != link_id for link in (await self._read())["links"])

        await self._update_once("unlink_tickets", is_gone, link_id=link_id, justification=why)

    async def _update_fields(self, tool: str, **members: str) -> None:
        """Set members of the ticket; repeated updates have no further effect."""
        await self.client.call(f"ticketdesk_{tool}", key=self.key, **members)
        self.known |= members

    async def _update_member(self, tool: str, member: str, value: object, **arguments: Any) -> None:
        async def is_updated() -> bool:
            return bool((await self._read())[member] == value)

        await self._update_once(tool, is_updated, **arguments)
        self.known[member] = value

    async def _update_once(self, tool: str, is_done: Any, **arguments: Any) -> None:
        await self.client.update(f"ticketdesk_{tool}", is_done, key=self.key, **arguments)

    async def _read(self) -> Json:
        ticket: Json = await self.client.call("ticketdesk_get_ticket", key=self.key)
        return ticket


COLLEAGUE_WAIT_MINUTES = 1440
STATUS_CHANGED = "transition-not-allowed"
"""The error code for a ticket whose status has changed since it was read."""

SETTLED = frozenset({"resolved", "closed", "cancelled"})


def ticket_key_in(brief: str) -> str:
    """Return the first ticket key in a brief."""
    found = re.search(r"\b[A-Z][A-Z0-9]*-[0-9]+\b", brief)
    assert found is not None, "the brief names no ticket"
    return found[0]


class TicketWorkflow:
    """Works one ticket from triage to its end."""

    def __init__(self, client: ToolClient, key: str, *, unblocked_status: str = "in_progress") -> None:
        self.client = client
        self.unblocked_status = unblocked_status
        """The ticket's status once nothing blocks it."""
        self.ticket = TicketSkill(client, key)
        self.priority: str | None = None
        """The priority that was set on the ticket."""

    async def unblock(self, identifiers: Collection[str]) -> None:
        """Pass each blocker of the ticket: finish it, wait for it, or remove an unrelated link.

        A blocker belongs to the ticket if its title or description contains one of the identifiers.
        """
        for link in self.ticket.known["links"]:
            if link["relation"] == "is_blocked_by" and link["status"] not in SETTLED:
                await self.pass_blocker(link["key"], link["id"], identifiers)
        if self.ticket.known["status"] == "blocked":
            await self.ticket.transition(self.unblocked_status)

    async def pass_blocker(self, key: str, link_id: str, identifiers: Collection[str]) -> None:
        """Pass one blocker."""
        blocker = TicketSkill(self.client, key)
        await blocker.read()
        text = f"{blocker.known['title']} {blocker.known['description']}"
        if not any(name in text for name in identifiers):
            await self.ticket.unlink(link_id, "The blocking ticket has nothing to do with this work.")
        elif blocker.known["status"] == "in_review":
            await blocker.transition("resolved")
        else:
            while blocker.known["status"] not in SETTLED:
                await self.client.wait(COLLEAGUE_WAIT_MINUTES)
                await blocker.read()

    async def complete(self, priority: str) -> None:
        """Set priority and assignee, complete the checklist, verify."""
        self.priority = priority
        if self.ticket.known["priority"] != priority:
            await self.ticket.set_priority(priority)
        await self.assign()
        for item in self.ticket.known["checklist"]:
            if item["done_at"] is None:
                await self.ticket.complete_item(item["id"])
        if not self.ticket.known["verified"]:
            await self.ticket.verify()

    async def assign(self) -> None:
        """Assign a member of the owning team who is present on the due date, unless one is assigned."""
        team_id, current = self.ticket.known["team_id"], self.ticket.known["assignee_id"]
        if current is not None and await self.is_member(current, team_id):
            return
        due_on = self.ticket.known["due_at"][:10]
        away = await self.client.list_all("datahub_get_calendar", **{"from": due_on, "to": due_on})
        absent = {row["person_id"] for row in away}
        team = await self.client.list_all("datahub_search_people", team_id=team_id)
        await self.ticket.assign(next(item["id"] for item in team if item["is_employed"] and item["id"] not in absent))

    async def is_member(self, person_id: str, team_id: str) -> bool:
        """Return whether a person is in the team today; False for an unknown person."""
        try:
            person = await self.client.call("datahub_get_person", person_id=person_id)
        except ToolRefusedError:
            return False
        return bool(person["is_employed"] and person["team_id"] == team_id)

    async def start(self) -> None:
        """Start work from the ticket's current status, with the priority that was set."""
        await self.reread()
        if self.ticket.known["status"] != "in_progress":
            await self.ticket.transition("in_progress")

    async def reread(self) -> None:
        """Read changes by colleagues, and restore the priority."""
        await self.ticket.read()
        if self.priority is not None and self.ticket.known["priority"] != self.priority:
            await self.ticket.set_priority(self.priority)

    async def resolve(self) -> None:
        """Resolve the ticket; resume it first if a colleague has put it on hold."""
        await self.start()
        try:
            await self.ticket.transition("resolved")
        except ToolRefusedError as refusal:
            if refusal.code != STATUS_CHANGED:
                raise
            await self.start()
            await self.ticket.transition("resolved")
        await self.reread()
