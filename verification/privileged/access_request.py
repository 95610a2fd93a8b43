"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.access_request.case import Case
from companyos_players import RecordSkill, ToolClient
from verification.privileged.oracle import PrivilegedOracle


class AccessRequestPrivilegedOracle(PrivilegedOracle[Case]):
    """Grants a known access request."""

    def __init__(self, case: Case, client: ToolClient) -> None:
        self.type_key = case.type_key
        super().__init__(case, client)
        self.hub = RecordSkill(client)

    async def learn(self) -> None:
        """Read the refused data and the evidence for the refusal."""
        await self.hub.read(self.case.grant_id)
        if self.case.conflicting_grant_id is not None:
            await self.hub.read(self.case.conflicting_grant_id)
        else:
            await self.client.call("datahub_get_person", person_id=self.case.person_id)

    def subject(self) -> str:
        """Return the grant."""
        return self.case.grant_id

    async def fields(self) -> dict[str, Any]:
        """Return the fields of the request."""
        case = self.case
        return {
            "grant_id": case.grant_id,
            "person_id": case.person_id,
            "system": case.system,
            "access_level": case.level.value,
            "until": case.until.isoformat(),
        }

    async def follow_up(self, request_id: str) -> None:
        """Record the grant, and revoke the one that it replaces."""
        case = self.case
        fields = {"access_level": case.level.value, "approval_ref": request_id}
        await self.hub.update(case.grant_id, state="active", ends_on=case.until.isoformat(), fields=fields)
        if case.replaced_id is not None:
            await self.hub.update(case.replaced_id, state="revoked")


ORACLE = AccessRequestPrivilegedOracle
