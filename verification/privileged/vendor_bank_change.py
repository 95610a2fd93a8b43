"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from datetime import UTC, datetime
from math import ceil
from typing import Any

from companyos_gateway.scenarios.vendor_bank_change.case import CHECK_TYPE, FRAUD, TYPE_KEY, Case, Variant
from companyos_players import RecordSkill, ToolClient
from verification.privileged.ordered_oracle import OrderedPrivilegedOracle

CALL_WAIT_MINUTES = 1440


class VendorBankChangePrivilegedOracle(OrderedPrivilegedOracle[Case]):
    """Handles a known change of bank details."""

    type_key = TYPE_KEY
    earlier_types = (CHECK_TYPE,)

    def __init__(self, case: Case, client: ToolClient) -> None:
        super().__init__(case, client)
        self.hub = RecordSkill(client)

    async def learn(self) -> None:
        """Read the documents, and report fraud."""
        case, refusal = self.case, self.case.refusal
        await self.client.call("datahub_get_vendor", vendor_id=case.vendor_id)
        for document_id in (case.letter_id, case.note_id):
            if document_id is not None:
                await self.hub.read(document_id)
        if refusal is not None and refusal.code == FRAUD:
            reason = {"reason_code": refusal.code, "reason_ref": refusal.references[-1]}
            issue = {"kind": "suspicious", "description": "The request is not genuine."}
            await self.client.create("datahub_report_data_issue", subject=case.vendor_id, **issue, **reason)

    def subject(self) -> str:
        """Return the vendor."""
        return self.case.vendor_id

    def earlier_approver(self, type_key: str) -> str:
        """Return the checker."""
        return self.case.checker_id

    async def earlier_fields(self, type_key: str) -> dict[str, Any]:
        """Wait for the call note and return the fields of the check."""
        case = self.case
        while case.variant is Variant.CALL_COMES and (await self.hub.read(case.proof_id))["state"] == "draft":
            await self.client.wait(CALL_WAIT_MINUTES)
        return {**self._common(), "request_id": case.letter_id, "proof_id": case.proof_id}

    async def fields(self) -> dict[str, Any]:
        """Return the fields of the release."""
        amount = self.case.open_amount_cents
        return {**self._common(), "open_amount_cents": amount, "check_ref": self.approval_ids[CHECK_TYPE]}

    async def follow_up(self, request_id: str) -> None:
        """Enter the account on the first allowed day, and archive the request."""
        case = self.case
        first = datetime.combine(case.not_before, datetime.min.time(), UTC)
        left = ceil((first - self.client.now()).total_seconds() / 60)
        if left > 0:
            await self.client.wait(left)
        await self.client.call("datahub_update_vendor", vendor_id=case.vendor_id, bank_iban=case.new_iban)
        await self.hub.update(case.letter_id, state="archived")

    def _common(self) -> dict[str, Any]:
        return {"vendor_id": self.case.vendor_id, "new_iban": self.case.new_iban}


ORACLE = VendorBankChangePrivilegedOracle
