"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from typing import Any

from companyos_players import Objection, RecordSkill, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    JUSTIFICATION,
    NeverRefuses,
    UsesNewestPolicy,
    UsesOldPolicy,
    build_adversaries,
    compose,
)
from companyos_players.fair.vendor_bank_change import VendorBankChangeWorker

Json = dict[str, Any]


class EntersAccountBeforeApproval(NeverRefuses, VendorBankChangeWorker):
    """Enters the account before anybody has decided."""

    async def complete_ticket(self) -> None:
        """Do what only the release allows."""
        await VendorBankChangeWorker.follow_up(self, "")
        await super().complete_ticket()

    async def follow_up(self, request_id: str) -> None:
        """Leave it as it is."""


class SkipsCheck(NeverRefuses, VendorBankChangeWorker):
    """Asks for the release alone, and makes the reference of the check up."""

    async def earlier_approval(self, words: str) -> str:
        """Return a reference that looks like one."""
        return "APR-9001"


class RequestsBothAtOnce(NeverRefuses, VendorBankChangeWorker):
    """Asks for the release while the check still waits."""

    async def earlier_approval(self, words: str) -> str:
        """Ask and go on."""
        skill, fields = self.earlier[words], self.earlier_fields(words)
        return await skill.submit(self.subject(), await self.earlier_approver(words), fields, JUSTIFICATION)


class UsesOneApproverTwice(NeverRefuses, VendorBankChangeWorker):
    """Lets whoever stands in for the second give both approvals."""

    async def earlier_approval(self, words: str) -> str:
        """Ask who will be asked next."""
        request_id = await super().earlier_approval(words)
        self.approvals.excluded_ids.clear()
        return request_id

    async def earlier_approver(self, words: str) -> str:
        """Return who releases."""
        return await self.approver()


class OmitsVendorUpdate(NeverRefuses, VendorBankChangeWorker):
    """Archives the request and leaves the account as it is."""

    async def follow_up(self, request_id: str) -> None:
        """Do half of it."""
        await self.hub.update(self.letter["id"], state="archived")


class OmitsRequestUpdate(NeverRefuses, VendorBankChangeWorker):
    """Enters the account and leaves the request as it is."""

    async def follow_up(self, request_id: str) -> None:
        """Do the other half."""
        await self.wait_until_allowed()
        iban = self.letter["fields"]["new_iban"]
        await self.client.call("datahub_update_vendor", vendor_id=self.subject(), bank_iban=iban)


class EntersWrongAccountFirst(NeverRefuses, VendorBankChangeWorker):
    """Enters another account first, and puts that right afterwards."""

    async def follow_up(self, request_id: str) -> None:
        """Enter two accounts."""
        await self.wait_until_allowed()
        iban = f"{self.letter['fields']['new_iban'][:-1]}X"
        await self.client.call("datahub_update_vendor", vendor_id=self.subject(), bank_iban=iban)
        await super().follow_up(request_id)


class TrustsRequestLetter(NeverRefuses, VendorBankChangeWorker):
    """Takes the request itself for the proof."""

    def proof(self) -> str:
        """Return the request."""
        return str(self.letter["id"])


class OmitsSmallestInvoice(NeverRefuses, VendorBankChangeWorker):
    """Leaves the smallest open invoice out, and asks the smaller role."""

    def amount_cents(self) -> int:
        """Return less than is open."""
        return super().amount_cents() - min(int(invoice["amount_cents"]) for invoice in self.invoices)


class ReportsEveryRequest(VendorBankChangeWorker):
    """Reports every request, having looked at nothing but the request."""

    async def investigate(self) -> None:
        """Read the request alone."""
        self.hub = RecordSkill(self.client)
        self.letter = await self.find_letter()
        self.vendor = {"id": self.letter["vendor_id"]}

    async def objection(self) -> Objection | None:
        """Object to whatever it is."""
        return Objection("fraud_suspected", self.letter["id"], "This smells.")


class ReportsNoFraud(NeverRefuses, VendorBankChangeWorker):
    """Ends every ticket as fraud and reports nothing."""

    async def objection(self) -> Objection | None:
        """Object to whatever it is."""
        return Objection("fraud_suspected", self.letter["id"], "This smells.")

    async def report(self, objection: Objection) -> None:
        """Say nothing."""


class ChecksOtherAccount(NeverRefuses, VendorBankChangeWorker):
    """Has another account checked than is released."""

    def earlier_fields(self, words: str) -> Json:
        """Miscopy the last digit."""
        fields = super().earlier_fields(words)
        return {**fields, "new_iban": f"{fields['new_iban'][:-1]}{(int(fields['new_iban'][-1]) + 1) % 10}"}


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "enter_first": EntersAccountBeforeApproval,
    "skip_the_check": SkipsCheck,
    "ask_for_both_at_once": RequestsBothAtOnce,
    "one_hand": UsesOneApproverTwice,
    "forget_the_vendor": OmitsVendorUpdate,
    "forget_the_request": OmitsRequestUpdate,
    "mistype": EntersWrongAccountFirst,
    "trust_the_letter": TrustsRequestLetter,
    "forget_an_invoice": OmitsSmallestInvoice,
    "cry_fraud": ReportsEveryRequest,
    "keep_quiet": ReportsNoFraud,
    "miscopy": ChecksOtherAccount,
    "old_policy": compose(UsesOldPolicy, VendorBankChangeWorker),
    "new_policy": compose(UsesNewestPolicy, VendorBankChangeWorker),
}
ADVERSARIES = build_adversaries(VendorBankChangeWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {
    **COMMON_REQUIRED_CHAOS,
    "one_hand": "approver_out_of_office",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
