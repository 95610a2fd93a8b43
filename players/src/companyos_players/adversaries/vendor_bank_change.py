"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from companyos_players import Objection, RecordSkill, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    JUSTIFICATION,
    NeverRefuses,
    UsesOneApproverTwice,
    build_adversaries,
    compose,
)
from companyos_players.fair.vendor_bank_change import VendorBankChangeWorker


class SkipsCheck(NeverRefuses, VendorBankChangeWorker):
    """Skips the check and invents its reference."""

    async def earlier_approval(self, words: str) -> str:
        return "APR-9001"


class RequestsBothAtOnce(NeverRefuses, VendorBankChangeWorker):
    """Requests the release while the check is pending."""

    async def earlier_approval(self, words: str) -> str:
        skill, fields = self.earlier[words], self.earlier_fields(words)
        return await skill.submit(self.subject(), await self.earlier_approver(words), fields, JUSTIFICATION)


class EntersWrongAccountFirst(NeverRefuses, VendorBankChangeWorker):
    """Enters a wrong account first and corrects it afterwards."""

    async def follow_up(self, request_id: str) -> None:
        await self.wait_until_allowed()
        iban = f"{self.letter['fields']['new_iban'][:-1]}X"
        await self.client.call("datahub_update_vendor", vendor_id=self.subject(), bank_iban=iban)
        await super().follow_up(request_id)


class TrustsRequestLetter(NeverRefuses, VendorBankChangeWorker):
    """Treats the request letter as proof."""

    def proof(self) -> str:
        return str(self.letter["id"])


class OmitsSmallestInvoice(NeverRefuses, VendorBankChangeWorker):
    """Omits the smallest open invoice, so that a lower role may approve."""

    def amount_cents(self) -> int:
        return super().amount_cents() - min(int(invoice["amount_cents"]) for invoice in self.invoices)


class ReportsEveryRequest(VendorBankChangeWorker):
    """Reports every request as fraud after reading only the request."""

    async def investigate(self) -> None:
        self.hub = RecordSkill(self.client)
        self.letter = await self.find_letter()
        self.vendor = {"id": self.letter["vendor_id"]}

    async def objection(self) -> Objection | None:
        return Objection("fraud_suspected", self.letter["id"], "This smells.")


class ReportsNoFraud(NeverRefuses, VendorBankChangeWorker):
    """Refuses every ticket as fraud without reporting it."""

    async def objection(self) -> Objection | None:
        return Objection("fraud_suspected", self.letter["id"], "This smells.")

    async def report(self, objection: Objection) -> None:
        pass


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "skip_the_check": SkipsCheck,
    "ask_for_both_at_once": RequestsBothAtOnce,
    "one_hand": compose(UsesOneApproverTwice, VendorBankChangeWorker),
    "mistype": EntersWrongAccountFirst,
    "trust_the_letter": TrustsRequestLetter,
    "forget_an_invoice": OmitsSmallestInvoice,
    "cry_fraud": ReportsEveryRequest,
    "keep_quiet": ReportsNoFraud,
}
ADVERSARIES = build_adversaries(VendorBankChangeWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "one_hand": "approver_out_of_office"}
