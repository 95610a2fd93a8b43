"""A fair worker whose work needs several approvals, one after the other and each by another person."""

from __future__ import annotations

from typing import Any, ClassVar

from companyos_gateway.scenarios.skills.approvals import ApprovalSkill
from companyos_gateway.scenarios.skills.worker import Worker

Json = dict[str, Any]


class InOrder(Worker):
    """One piece of work; `type_words` name the type of the last approval, `earlier_words` those before it."""

    earlier_words: ClassVar[tuple[str, ...]] = ()

    async def unblock(self) -> None:
        """Get past whatever blocks the ticket, and read what only work that goes on needs."""
        await super().unblock()
        await self.read_on()

    async def read_on(self) -> None:
        """Read the earlier approval types."""
        self.given: dict[str, str] = {}
        self.earlier: dict[str, ApprovalSkill] = {}
        types = await self.hands.pages("approvalflow_list_approval_types")
        for words in self.earlier_words:
            type_key = next(one["key"] for one in types if words in one["title"].lower())
            approval_type = await self.hands.ask("approvalflow_get_approval_type", type_key=type_key)
            self.earlier[words] = ApprovalSkill(self.hands, approval_type, own_id=self.task.acting_as)

    async def complete_ticket(self) -> None:
        """Complete the ticket and get the earlier approvals."""
        await super().complete_ticket()
        for words in self.earlier_words:
            self.given[words] = await self.earlier_approval(words)

    async def earlier_approval(self, words: str) -> str:
        """Get one of the earlier approvals and return its id; who gives it is not asked for the next."""
        skill = self.earlier[words]
        approver_id = await self.earlier_approver(words)
        while True:
            await self.prepare_request()
            fields = self.earlier_fields(words)
            more = {"ticket_ref": self.ticket.key}
            request_id = await skill.submit(self.subject(), approver_id, fields, self.justification, **more)
            if await skill.decision(request_id) == "approved":
                break
        for other in (*self.earlier.values(), self.approvals):
            other.barred.add(approver_id)
        return request_id

    async def earlier_approver(self, words: str) -> str:
        """Return who may give an earlier approval today."""
        return await self.earlier[words].approver(self.amount_cents())

    def earlier_fields(self, words: str) -> Json:
        """Return the fields that an earlier approval type asks for."""
        raise NotImplementedError
