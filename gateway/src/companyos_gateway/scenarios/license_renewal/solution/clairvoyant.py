"""The clairvoyant oracle: it knows the case and does what it takes, looking only at what the episode makes."""

from __future__ import annotations

from typing import Any

from companyos.policies import Call
from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios.license_renewal.case import METRIC_KEY, TYPE_KEY, Case, Ground
from companyos_gateway.scenarios.license_renewal.scenario import stage
from companyos_gateway.scenarios.parts.knowing import Knowing
from companyos_gateway.scenarios.skills import Hands, RecordSkill


async def play_seed(seed: int, chaos: int, call: Call) -> None:
    """Solve the case of a seed and chaos level."""
    await Clairvoyant(stage(seed, profile_for(chaos), {}).case, Hands(call)).work()


class Clairvoyant(Knowing[Case]):
    """Renews a licence it knows."""

    type_key = TYPE_KEY

    def __init__(self, case: Case, hands: Hands) -> None:
        super().__init__(case, hands)
        self.hub = RecordSkill(hands)

    async def learn(self) -> None:
        """Look at everything that may speak against it."""
        await self.hub.read(self.case.licence_id)
        await self.hands.ask("datahub_get_vendor", vendor_id=self.case.vendor_id)
        if self.case.ground is Ground.TOO_EARLY:
            await self.fields()

    def subject(self) -> str:
        """Return the licence."""
        return self.case.licence_id

    async def fields(self) -> dict[str, Any]:
        """Return the fields of the request with the days left of now."""
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
        await self.hub.change(case.licence_id, state="renewed", **changes)
