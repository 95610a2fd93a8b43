"""Working an entry ticket: get past what blocks it, complete it, end it."""

from __future__ import annotations

import re
from collections.abc import Collection

from companyos_gateway.scenarios.skills.hands import Hands, Refused
from companyos_gateway.scenarios.skills.tickets import TicketSkill

COLLEAGUE_WAIT_MINUTES = 1440
MOVED = "transition-not-allowed"
"""The code of a refusal of a ticket that does not stand where it was seen."""

SETTLED = frozenset({"resolved", "closed", "cancelled"})


def ticket_of(brief: str) -> str:
    """Return the key of the ticket that a brief names first."""
    found = re.search(r"\b[A-Z][A-Z0-9]*-[0-9]+\b", brief)
    assert found is not None, "the brief names no ticket"
    return found[0]


class DeskSkill:
    """Works one ticket from triage to its end."""

    def __init__(self, hands: Hands, key: str, *, unblocked: str = "in_progress") -> None:
        self.hands = hands
        self.unblocked = unblocked
        """The status that a ticket takes once nothing blocks it."""
        self.ticket = TicketSkill(hands, key)
        self.priority: str | None = None
        """The priority that the ticket was given."""

    async def triage(self) -> None:
        """Open the ticket where nobody has."""
        if self.ticket.known["status"] is None:
            await self.ticket.move("open")

    async def unblock(self, ours: Collection[str]) -> None:
        """Get past whatever blocks the ticket: finish it, wait for it, or take off a link that does not belong.

        What belongs names one of `ours` in its text.
        """
        for link in self.ticket.known["links"]:
            if link["relation"] == "is_blocked_by" and link["status"] not in SETTLED:
                await self.pass_blocker(link["key"], link["id"], ours)
        if self.ticket.known["status"] == "blocked":
            await self.ticket.move(self.unblocked)

    async def pass_blocker(self, key: str, link_id: str, ours: Collection[str]) -> None:
        """Get past one blocker."""
        blocker = TicketSkill(self.hands, key)
        await blocker.look()
        text = f"{blocker.known['title']} {blocker.known['description']}"
        if not any(name in text for name in ours):
            await self.ticket.unlink(link_id, "The blocking ticket has nothing to do with this work.")
        elif blocker.known["status"] == "in_review":
            await blocker.move("resolved")
        else:
            while blocker.known["status"] not in SETTLED:
                await self.hands.wait(COLLEAGUE_WAIT_MINUTES)
                await blocker.look()

    async def complete(self, priority: str) -> None:
        """Set priority and assignee, complete the checklist, verify."""
        self.priority = priority
        if self.ticket.known["priority"] != priority:
            await self.ticket.prioritise(priority)
        await self.assign()
        for item in self.ticket.known["checklist"]:
            if item["done_at"] is None:
                await self.ticket.tick(item["id"])
        if not self.ticket.known["verified"]:
            await self.ticket.verify()

    async def assign(self) -> None:
        """Assign somebody of the owning team who is there when the ticket is due, unless somebody is."""
        team_id, current = self.ticket.known["team_id"], self.ticket.known["assignee_id"]
        if current is not None and await self.is_member(current, team_id):
            return
        due_on = self.ticket.known["due_at"][:10]
        away = await self.hands.pages("datahub_get_calendar", **{"from": due_on, "to": due_on})
        absent = {row["person_id"] for row in away}
        team = await self.hands.pages("datahub_search_people", team_id=team_id)
        await self.ticket.assign(next(one["id"] for one in team if one["is_employed"] and one["id"] not in absent))

    async def is_member(self, person_id: str, team_id: str) -> bool:
        """Say whether a person works in the team today; one that nobody knows does not."""
        try:
            person = await self.hands.ask("datahub_get_person", person_id=person_id)
        except Refused:
            return False
        return bool(person["is_employed"] and person["team_id"] == team_id)

    async def start(self) -> None:
        """Take the ticket into work, from wherever colleagues have put it, and with the priority that it was given."""
        await self.look_again()
        if self.ticket.known["status"] != "in_progress":
            await self.ticket.move("in_progress")

    async def look_again(self) -> None:
        """See what colleagues have done to the ticket, and give it its priority back."""
        await self.ticket.look()
        if self.priority is not None and self.ticket.known["priority"] != self.priority:
            await self.ticket.prioritise(self.priority)

    async def resolve(self) -> None:
        """Bring the ticket to its end, once more where a colleague has put it on hold meanwhile."""
        await self.start()
        try:
            await self.ticket.move("resolved")
        except Refused as refusal:
            if refusal.code != MOVED:
                raise
            await self.start()
            await self.ticket.move("resolved")
        await self.look_again()
