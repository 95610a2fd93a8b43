"""Handling requests that stand already: read, withdraw, cancel, escalate, each once however bad the connection."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.skills.hands import Hands

Json = dict[str, Any]

OPEN = ("pending", "escalated", "info_requested")


class RequestSkill:
    """Works with ApprovalFlow's requests and delegations."""

    def __init__(self, hands: Hands) -> None:
        self.hands = hands

    async def read(self, request_id: str) -> Json:
        """Read a request."""
        request: Json = await self.hands.ask("approvalflow_get_approval", request_id=request_id)
        return request

    async def waiting(self, **wanted: str) -> list[Json]:
        """Return the rows of the open requests that fit."""
        rows = await self.hands.pages("approvalflow_list_approvals", **wanted)
        return [row for row in rows if row["status"] in OPEN]

    async def cancel(self, request_id: str, reason_code: str, reason_ref: str) -> None:
        """Cancel a request for a reason."""

        async def is_done() -> bool:
            return bool((await self.read(request_id))["status"] == "cancelled")

        reason = {"reason_code": reason_code, "reason_ref": reason_ref}
        await self.hands.change("approvalflow_cancel_approval", is_done, request_id=request_id, **reason)

    async def withdraw(self, request_id: str) -> None:
        """Take back one's own request."""

        async def is_done() -> bool:
            return bool((await self.read(request_id))["status"] == "withdrawn")

        await self.hands.change("approvalflow_withdraw_approval", is_done, request_id=request_id)

    async def escalate(self, request_id: str, approver_id: str, reason: str, reason_ref: str) -> None:
        """Put a request to another person."""

        async def is_done() -> bool:
            return bool((await self.read(request_id))["approver_id"] == approver_id)

        told = {"approver_id": approver_id, "reason": reason, "reason_ref": reason_ref}
        await self.hands.change("approvalflow_escalate_approval", is_done, request_id=request_id, **told)

    async def revoke(self, delegation_id: str, *, to_id: str) -> None:
        """Take a delegation away from who has it."""

        async def is_done() -> bool:
            rows = await self.hands.pages("approvalflow_list_delegations", to_id=to_id)
            return any(row["id"] == delegation_id and row["revoked_at"] is not None for row in rows)

        await self.hands.change("approvalflow_revoke_delegation", is_done, delegation_id=delegation_id)
