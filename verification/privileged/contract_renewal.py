"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.contract_renewal.case import (
    LEGAL_TYPE,
    METRIC_KEY,
    TYPE_KEY,
    Case,
    RefusalGround,
    Variant,
)
from companyos_players import RecordSkill, ToolClient
from verification.privileged.ordered_oracle import OrderedPrivilegedOracle

PAPER_WAIT_MINUTES = 1440


class ContractRenewalPrivilegedOracle(OrderedPrivilegedOracle[Case]):
    """Renews a known contract."""

    type_key = TYPE_KEY
    earlier_types = (LEGAL_TYPE,)

    def __init__(self, case: Case, client: ToolClient) -> None:
        super().__init__(case, client)
        self.hub = RecordSkill(client)
        self.is_up_to_date = False

    async def learn(self) -> None:
        """Read all possible evidence for a refusal."""
        case = self.case
        assert case.refusal is not None
        for record_id in (case.contract_id, case.paper_id):
            if record_id is not None:
                await self.hub.read(record_id)
        if case.ground is RefusalGround.COVERED:
            await self.hub.read(case.refusal.references[0])
        await self.client.call("datahub_get_vendor", vendor_id=case.vendor_id)
        if case.ground is RefusalGround.RISK:
            await self.fresh(case.risk, key=METRIC_KEY, subject=case.vendor_id)

    def subject(self) -> str:
        """Return the contract."""
        return self.case.contract_id

    def earlier_approver(self, type_key: str) -> str:
        """Return the reviewer."""
        return self.case.counsel_id

    async def earlier_fields(self, type_key: str) -> dict[str, Any]:
        """Update the vendor and return the fields of the review with the current risk."""
        case = self.case
        await self.update_vendor()
        reading = await self.fresh(case.risk, key=METRIC_KEY, subject=case.vendor_id)
        return {
            "contract_id": case.contract_id,
            "certificate_until": case.paper.expires_on.isoformat(),
            METRIC_KEY: reading["value"],
            "risk_as_of": reading["as_of"],
            "risk_tier": case.tier,
        }

    async def update_vendor(self) -> None:
        """File the certificate and update the tier."""
        case, paper = self.case, self.case.paper
        if self.is_up_to_date:
            return
        self.is_up_to_date = True
        if case.variant.is_recertified:
            assert case.paper_id is not None
            while case.variant is Variant.AWAITED and (await self.hub.read(case.paper_id))["state"] == "draft":
                await self.client.wait(PAPER_WAIT_MINUTES)
            days = {"issued_on": paper.issued_on.isoformat(), "expires_on": paper.expires_on.isoformat()}
            new = {"kind": paper.kind, **days}
            await self.client.call("datahub_update_vendor", vendor_id=case.vendor_id, certificate=new)
        if case.variant.is_retiered:
            await self.client.call("datahub_update_vendor", vendor_id=case.vendor_id, risk_tier=case.tier)

    async def fields(self) -> dict[str, Any]:
        """Return the fields of the finance approval."""
        case = self.case
        return {
            "contract_id": case.contract_id,
            "amount_cents": case.amount_cents,
            "new_end": case.new_end.isoformat(),
            "legal_ref": self.approval_ids[LEGAL_TYPE],
        }

    async def follow_up(self, request_id: str) -> None:
        """Record the renewal."""
        case = self.case
        fields = {"term_years": case.term_years, "approval_ref": request_id}
        changes = {"ends_on": case.new_end.isoformat(), "fields": fields}
        await self.hub.update(case.contract_id, state="renewed", **changes)


ORACLE = ContractRenewalPrivilegedOracle
