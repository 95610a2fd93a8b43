"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from companyos_gateway.scenarios.vendor_onboarding.case import METRIC_KEY, TYPE_KEY, Case
from verification.privileged.oracle import PrivilegedOracle


class VendorOnboardingPrivilegedOracle(PrivilegedOracle[Case]):
    """Onboards a known vendor."""

    type_key = TYPE_KEY

    async def learn(self) -> None:
        """Read the score."""
        await self.fields()

    def subject(self) -> str:
        """Return the vendor."""
        return self.case.vendor_id

    async def fields(self) -> dict[str, object]:
        """Return the fields of the request with the current score."""
        reading = await self.fresh(self.case.score, key=METRIC_KEY, subject=self.case.vendor_id)
        return {**self.case.fixed_fields, METRIC_KEY: reading["value"], "score_as_of": reading["as_of"]}


ORACLE = VendorOnboardingPrivilegedOracle
