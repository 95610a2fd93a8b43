"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from companyos_gateway.scenarios.data_discrepancy.case import Case, RefusalGround
from companyos_players import RecordSkill, ToolClient
from verification.privileged.oracle import PrivilegedOracle


class DataDiscrepancyPrivilegedOracle(PrivilegedOracle[Case]):
    """Settles a known discrepancy."""

    def __init__(self, case: Case, client: ToolClient) -> None:
        super().__init__(case, client)
        self.hub = RecordSkill(client)

    async def learn(self) -> None:
        """Read the evidence against a correction."""
        if self.case.ground is RefusalGround.NO_AUTHORITY:
            figure = self.case.figure
            await self.client.call("datahub_query_metric", key=figure.key, subject=figure.subject)
            for source_id in self.case.measuring_ids:
                await self.client.call("datahub_get_source", source_id=source_id)
            return
        for record_id in self.case.record_ids:
            await self.hub.read(record_id)
        if self.case.ground is RefusalGround.AGREED:
            await self.read_fresh()

    async def execute(self) -> None:
        """Report the wrong source, and correct the records."""
        await self.read_fresh()
        await self.client.create(
            "datahub_report_data_issue",
            subject=self.case.wrong_metric_id,
            kind="wrong",
            description="The authority says otherwise.",
        )
        for record_id, fields in self.case.corrections.items():
            await self.hub.update(record_id, fields=dict(fields))

    async def read_fresh(self) -> None:
        """Read the authority's value once it is fresh."""
        figure = self.case.figure
        await self.fresh(figure.spec, key=figure.key, subject=figure.subject)


ORACLE = DataDiscrepancyPrivilegedOracle
