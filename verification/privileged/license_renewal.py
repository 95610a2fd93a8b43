"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.license_renewal.case import METRIC_KEY, TYPE_KEY, Case, RefusalGround
from companyos_players import RecordSkill, ToolClient
from verification.privileged.oracle import PrivilegedOracle


class LicenseRenewalPrivilegedOracle(PrivilegedOracle[Case]):
    """Renews a known licence."""

    type_key = TYPE_KEY

    def __init__(self, case: Case, client: ToolClient) -> None:
        super().__init__(case, client)
        self.hub = RecordSkill(client)

    async def learn(self) -> None:
        """Read all possible evidence for a refusal."""
        await self.hub.read(self.case.licence_id)
        await self.client.call("datahub_get_vendor", vendor_id=self.case.vendor_id)
        if self.case.ground is RefusalGround.TOO_EARLY:
            await self.fields()

    def subject(self) -> str:
        """Return the licence."""
        return self.case.licence_id

    async def fields(self) -> dict[str, Any]:
        """Return the fields of the request with the current days left."""
        case = self.case
        reading = await self.fresh(case.days_left, key=METRIC_KEY, subject=case.licence_id)
        return {
            "licence_id": case.licence_id,
            "seats": case.seats,
            "amount_cents": case.amount_cents,
            "new_end": case.new_end.isoformat(),
            METRIC_KEY: reading["value"],
            "days_left_as_of": reading["as_of"],
        }

    async def follow_up(self, request_id: str) -> None:
        """Record the renewal."""
        case = self.case
        changes = {"ends_on": case.new_end.isoformat(), "fields": {"seats": case.seats}}
        await self.hub.update(case.licence_id, state="renewed", **changes)


ORACLE = LicenseRenewalPrivilegedOracle
