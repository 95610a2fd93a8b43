"""A worker who knows the case: it does what the case takes and looks only at what the episode makes."""

from __future__ import annotations

from math import ceil
from typing import Any, Generic, TypeVar

from companyos_gateway.rubrics.cases import DeskCase, Reading, Unblocking
from companyos_gateway.scenarios.skills import ApprovalSkill, Hands, Refused, TicketSkill
from companyos_gateway.scenarios.skills.desk import MOVED

LONGEST_REFRESH_MINUTES = 95
JUSTIFICATION = "Checked against the policy in force; everything that it asks for is in place."

CaseT = TypeVar("CaseT", bound=DeskCase)


class Knowing(Generic[CaseT]):
    """Solves a case it knows; a scenario says what its request holds and what follows from the approval."""

    type_key = ""

    def __init__(self, case: CaseT, hands: Hands) -> None:
        self.case = case
        self.hands = hands
        self.ticket = TicketSkill(hands, case.ticket_key)
        self.approvals = ApprovalSkill(hands, {"key": self.type_key}, own_id=case.agent_id)

    async def work(self) -> None:
        """Do what the case takes."""
        case = self.case
        if case.first_status is None:
            await self.ticket.move("open")
        if case.refusal is not None:
            await self.learn()
            reason = {"reason_code": case.refusal.code, "reason_ref": case.refusal.references[-1]}
            await self.ticket.move("cancelled", **reason)
            await self.hands.finish("refused", "The policy does not allow it.", **reason)
        await self.unblock()
        if case.needs_priority:
            await self.ticket.prioritise(case.priority)
        if case.needs_assignee:
            await self.ticket.assign(case.assignee_ids[0])
        for item_id in case.open_items:
            await self.ticket.tick(item_id)
        await self.ticket.verify()
        await self.carry_out()
        try:
            await self.end()
        except Refused as refusal:
            if refusal.code != MOVED:
                raise
            await self.end()
        await self.look_again()
        await self.hands.finish("done", "It is done.")

    async def end(self) -> None:
        """Bring the ticket to its end from wherever colleagues have put it."""
        ticket = await self.look_again()
        if ticket["status"] != "in_progress":
            await self.ticket.move("in_progress")
        if self.case.end_status != "in_progress":
            await self.ticket.move(self.case.end_status)

    async def look_again(self) -> dict[str, Any]:
        """See what colleagues have done to the ticket, and give it its priority back."""
        ticket = await self.ticket.look()
        if ticket["priority"] != self.case.priority:
            await self.ticket.prioritise(self.case.priority)
        return ticket

    async def carry_out(self) -> None:
        """Do what the ticket is about: have it approved, link the approval and do what follows from it."""
        request_id = await self.approval()
        await self.ticket.link_approval(request_id)
        await self.follow_up(request_id)

    async def learn(self) -> None:
        """Make known what speaks against the work, where a rubric asks for it."""

    async def follow_up(self, request_id: str) -> None:
        """Do what the approval allows."""

    def subject(self) -> str:
        """Return the subject of the request."""
        raise NotImplementedError

    async def fields(self) -> dict[str, Any]:
        """Return the fields of the request."""
        raise NotImplementedError

    async def unblock(self) -> None:
        """Take the right way past the blocker."""
        blocker = self.case.blocker
        if blocker is None:
            if self.case.first_status == "blocked":
                await self.ticket.move("open")
            return
        if blocker.way is Unblocking.RESOLVE:
            await TicketSkill(self.hands, blocker.key).move("resolved")
        if blocker.way is Unblocking.UNLINK:
            await self.ticket.unlink(blocker.link_id, "This was linked by mistake.")
        if blocker.way is Unblocking.WAIT:
            await self.ticket.look()
            minutes = ceil((blocker.free_at - self.hands.now()).total_seconds() / 60)
            await self.hands.wait(max(1, minutes))
        if self.case.first_status == "blocked":
            await self.ticket.move("open")

    async def approval(self) -> str:
        """Get the approval and return its id."""
        while True:
            fields, approver_id = await self.fields(), self.case.approver_ids[0]
            request_id = await self.approvals.submit(self.subject(), approver_id, fields, JUSTIFICATION)
            if await self.approvals.decision(request_id) == "approved":
                return request_id

    async def fresh(self, reading: Reading, *, key: str, subject: str) -> dict[str, Any]:
        """Return the metric's reading of now, refreshed as often as it takes."""
        while True:
            answer = await self.hands.ask("datahub_query_metric", key=key, subject=subject, source_id=reading.source_id)
            found: dict[str, Any] = answer["readings"][0]
            if not found["is_stale"]:
                return {**found, "value": found["value"] / reading.per_unit}
            await self.hands.make("datahub_refresh_metric", metric_id=reading.metric_id)
            await self.hands.wait(LONGEST_REFRESH_MINUTES)
