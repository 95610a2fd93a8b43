"""Privileged oracle for sequential approvals."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from companyos_gateway.evaluation.cases import TicketCase
from companyos_players import ApprovalSkill
from verification.privileged.oracle import JUSTIFICATION, PrivilegedOracle

CaseT = TypeVar("CaseT", bound=TicketCase)


class OrderedPrivilegedOracle(PrivilegedOracle[CaseT]):
    """Solves a known instance; `earlier_types` are the keys of the approval types before the last."""

    earlier_types: ClassVar[tuple[str, ...]] = ()
    approval_ids: dict[str, str]

    async def approval(self) -> str:
        """Get every approval in order and return the id of the last."""
        self.approval_ids = {}
        for type_key in self.earlier_types:
            self.approval_ids[type_key] = await self.earlier_approval(type_key)
        return await super().approval()

    async def earlier_approval(self, type_key: str) -> str:
        """Get one of the earlier approvals."""
        skill = ApprovalSkill(self.client, {"key": type_key}, own_id=self.case.agent_id)
        while True:
            fields, approver_id = await self.earlier_fields(type_key), self.earlier_approver(type_key)
            request_id = await skill.submit(self.subject(), approver_id, fields, JUSTIFICATION)
            if await skill.await_decision(request_id) == "approved":
                return request_id

    def earlier_approver(self, type_key: str) -> str:
        """Return the approver of an earlier approval."""
        raise NotImplementedError

    async def earlier_fields(self, type_key: str) -> dict[str, Any]:
        """Return the fields of an earlier request."""
        raise NotImplementedError
