"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from companyos.policies import Call
from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios.vendor_onboarding.case import METRIC_KEY, TYPE_KEY, Case
from companyos_gateway.scenarios.vendor_onboarding.scenario import build
from companyos_players import ToolClient
from verification.privileged.oracle import PrivilegedOracle


async def play_seed(seed: int, chaos: int, call: Call) -> None:
    """Solve the instance of a seed and chaos level."""
    await VendorOnboardingPrivilegedOracle(build(seed, profile_for(chaos), {}).case, ToolClient(call)).work()


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
