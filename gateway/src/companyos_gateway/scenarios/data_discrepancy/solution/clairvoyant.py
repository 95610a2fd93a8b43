"""The clairvoyant oracle: it knows the case and does what it takes, looking only at what the episode makes."""

from __future__ import annotations

from companyos.policies import Call
from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios.data_discrepancy.case import Case, Ground
from companyos_gateway.scenarios.data_discrepancy.scenario import stage
from companyos_gateway.scenarios.parts.knowing import Knowing
from companyos_gateway.scenarios.skills import Hands, RecordSkill


async def play_seed(seed: int, chaos: int, call: Call) -> None:
    """Solve the case of a seed and chaos level."""
    await Clairvoyant(stage(seed, profile_for(chaos), {}).case, Hands(call)).work()


class Clairvoyant(Knowing[Case]):
    """Settles a discrepancy it knows."""

    def __init__(self, case: Case, hands: Hands) -> None:
        super().__init__(case, hands)
        self.hub = RecordSkill(hands)

    async def learn(self) -> None:
        """Look at what speaks against a correction."""
        if self.case.ground is Ground.NO_AUTHORITY:
            figure = self.case.figure
            await self.hands.ask("datahub_query_metric", key=figure.key, subject=figure.subject)
            for source_id in self.case.measuring_ids:
                await self.hands.ask("datahub_get_source", source_id=source_id)
            return
        for record_id in self.case.record_ids:
            await self.hub.read(record_id)
        if self.case.ground is Ground.AGREED:
            await self.read_fresh()

    async def carry_out(self) -> None:
        """Report who is wrong, and correct what used it."""
        await self.read_fresh()
        await self.hands.make(
            "datahub_report_data_issue",
            subject=self.case.wrong_metric_id,
            kind="wrong",
            description="The authority says otherwise.",
        )
        for record_id, fields in self.case.corrections.items():
            await self.hub.change(record_id, fields=dict(fields))

    async def read_fresh(self) -> None:
        """Read the authority's value once it is fresh."""
        figure = self.case.figure
        await self.fresh(figure.reading, key=figure.key, subject=figure.subject)
