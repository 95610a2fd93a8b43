"""Base of the privileged oracle: the work on the ticket. It reads only data that the episode creates."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from types import MappingProxyType
from typing import Any

from companyos_gateway.evaluation.cases import BlockerResolution
from companyos_gateway.evaluation.checklist import ChecklistItem
from companyos_gateway.evaluation.outcome import DeclaredCase
from companyos_players import TicketSkill, ToolClient, ToolRefusedError
from companyos_players.approvals import default_answer
from companyos_players.tickets import STATUS_CHANGED


class PrivilegedOracle:
    """Does the work on the ticket of a known instance; subclasses implement `execute`, `look_up` and `learn`."""

    answers: Mapping[str, str] = MappingProxyType({})
    """The answers that approvers accept, by question."""

    def __init__(self, case: DeclaredCase, client: ToolClient) -> None:
        self.case = case
        self.client = client
        self.ticket = TicketSkill(client, case.ticket_key)

    async def answer(self, text: str) -> str:
        """Return the accepted answer to a question; the text may start with an introduction."""
        known = [answer for question, answer in self.answers.items() if text.endswith(question)]
        return known[0] if known else await default_answer(text)

    async def work(self) -> None:
        """Do the work from the first status to `finish`."""
        case = self.case
        if case.first_status is None:
            await self.ticket.transition("open")
        if case.refusal is not None:
            await self.learn()
            reason = {"reason_code": case.refusal.code, "reason_ref": case.refusal.references[-1]}
            await self.ticket.transition("cancelled", **reason)
            await self.client.finish("refused", "The policy does not allow it.", **reason)
        await self.unblock()
        if case.needs_priority:
            await self.ticket.set_priority(case.priority)
        if case.needs_assignee:
            await self.ticket.assign(case.assignee_ids[0])
        for item in case.open_items:
            await self.look_up(item)
            await self.ticket.complete_item(item.id)
        await self.ticket.verify()
        await self.execute()
        try:
            await self.end()
        except ToolRefusedError as refusal:
            if refusal.code != STATUS_CHANGED:
                raise
            await self.end()
        await self.reread()
        await self.client.finish("done", "It is done.")

    async def end(self) -> None:
        """Move the ticket from its current status to its end status."""
        ticket = await self.reread()
        if ticket["status"] != "in_progress":
            await self.ticket.transition("in_progress")
        if self.case.end_status != "in_progress":
            await self.ticket.transition(self.case.end_status)

    async def reread(self) -> dict[str, Any]:
        """Read the ticket, which colleagues may have changed, and restore the priority."""
        ticket = await self.ticket.read()
        if ticket["priority"] != self.case.priority:
            await self.ticket.set_priority(self.case.priority)
        return ticket

    async def execute(self) -> None:
        """Do the work that the ticket requests."""
        raise NotImplementedError

    async def look_up(self, item: ChecklistItem) -> None:
        """Read the rows that back a checklist item."""
        raise NotImplementedError

    async def learn(self) -> None:
        """Read the facts of the refusal, and do the work that is required before it."""
        raise NotImplementedError

    async def unblock(self) -> None:
        """Resolve or unlink the blocker, or wait for it, as the case permits."""
        blocker = self.case.blocker
        if blocker is None:
            if self.case.first_status == "blocked":
                await self.ticket.transition("open")
            return
        if blocker.resolution is BlockerResolution.RESOLVE:
            await TicketSkill(self.client, blocker.key).transition("resolved")
        if blocker.resolution is BlockerResolution.UNLINK:
            await self.ticket.unlink(blocker.link_id, "This was linked by mistake.")
        if blocker.resolution is BlockerResolution.WAIT:
            await self.ticket.read()
            minutes = ceil((blocker.free_at - self.client.now()).total_seconds() / 60)
            await self.client.wait(max(1, minutes))
        if self.case.first_status == "blocked":
            await self.ticket.transition("open")
