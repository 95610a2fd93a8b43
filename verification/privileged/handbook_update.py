"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.handbook_update.case import TYPE_KEY, Case
from companyos_players import RecordSkill, ToolClient
from verification.privileged.oracle import PrivilegedOracle


class HandbookUpdatePrivilegedOracle(PrivilegedOracle[Case]):
    """Publishes a known page."""

    type_key = TYPE_KEY

    def __init__(self, case: Case, client: ToolClient) -> None:
        super().__init__(case, client)
        self.hub = RecordSkill(client)

    async def learn(self) -> None:
        """Read the refused data."""
        await self.hub.read(self.case.document_id)

    def subject(self) -> str:
        """Return the document."""
        return self.case.document_id

    async def fields(self) -> dict[str, Any]:
        """Correct the page and return the fields of the request."""
        case = self.case
        if case.variant.is_outdated:
            await self.hub.update(case.document_id, fields=dict(case.quoted))
        return {
            "document_id": case.document_id,
            "revision": case.revision,
            "policy_id": case.rule_id,
            "policy_version": case.rule_version,
        }

    async def follow_up(self, request_id: str) -> None:
        """Publish the page, and archive the previous one."""
        await self.hub.update(self.case.document_id, state="published", fields={"approval_ref": request_id})
        if self.case.predecessor_id is not None:
            await self.hub.update(self.case.predecessor_id, state="archived")


ORACLE = HandbookUpdatePrivilegedOracle
