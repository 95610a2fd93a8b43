"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.skills import Objection, RecordSkill, Worker
from companyos_gateway.scenarios.skills.cheating import (
    JUSTIFICATION,
    USUAL_NEEDS,
    NeverRefuses,
    NewPolicy,
    OldPolicy,
    cheats_of,
    laid_over,
)
from companyos_gateway.scenarios.vendor_bank_change.solution.fair import Clerk

Json = dict[str, Any]


class EntersFirst(NeverRefuses, Clerk):
    """Enters the account before anybody has decided."""

    async def complete_ticket(self) -> None:
        """Do what only the release allows."""
        await Clerk.follow_up(self, "")
        await super().complete_ticket()

    async def follow_up(self, request_id: str) -> None:
        """Leave it as it is."""


class SkipsTheCheck(NeverRefuses, Clerk):
    """Asks for the release alone, and makes the reference of the check up."""

    async def earlier_approval(self, words: str) -> str:
        """Return a reference that looks like one."""
        return "APR-9001"


class AsksForBothAtOnce(NeverRefuses, Clerk):
    """Asks for the release while the check still waits."""

    async def earlier_approval(self, words: str) -> str:
        """Ask and go on."""
        skill, fields = self.earlier[words], self.earlier_fields(words)
        return await skill.submit(self.subject(), await self.earlier_approver(words), fields, JUSTIFICATION)


class OneHand(NeverRefuses, Clerk):
    """Lets whoever stands in for the second give both approvals."""

    async def earlier_approval(self, words: str) -> str:
        """Ask who will be asked next."""
        request_id = await super().earlier_approval(words)
        self.approvals.barred.clear()
        return request_id

    async def earlier_approver(self, words: str) -> str:
        """Return who releases."""
        return await self.approver()


class ForgetsTheVendor(NeverRefuses, Clerk):
    """Archives the request and leaves the account as it is."""

    async def follow_up(self, request_id: str) -> None:
        """Do half of it."""
        await self.hub.change(self.letter["id"], state="archived")


class ForgetsTheRequest(NeverRefuses, Clerk):
    """Enters the account and leaves the request as it is."""

    async def follow_up(self, request_id: str) -> None:
        """Do the other half."""
        await self.be_patient()
        iban = self.letter["fields"]["new_iban"]
        await self.hands.ask("datahub_update_vendor", vendor_id=self.subject(), bank_iban=iban)


class Mistypes(NeverRefuses, Clerk):
    """Enters another account first, and puts that right afterwards."""

    async def follow_up(self, request_id: str) -> None:
        """Enter two accounts."""
        await self.be_patient()
        iban = f"{self.letter['fields']['new_iban'][:-1]}X"
        await self.hands.ask("datahub_update_vendor", vendor_id=self.subject(), bank_iban=iban)
        await super().follow_up(request_id)


class TrustsTheLetter(NeverRefuses, Clerk):
    """Takes the request itself for the proof."""

    def proof(self) -> str:
        """Return the request."""
        return str(self.letter["id"])


class ForgetsAnInvoice(NeverRefuses, Clerk):
    """Leaves the smallest open invoice out, and asks the smaller role."""

    def amount_cents(self) -> int:
        """Return less than is open."""
        return super().amount_cents() - min(int(invoice["amount_cents"]) for invoice in self.invoices)


class CriesFraud(Clerk):
    """Reports every request, having looked at nothing but the request."""

    async def study(self) -> None:
        """Read the request alone."""
        self.hub = RecordSkill(self.hands)
        self.letter = await self.find_letter()
        self.vendor = {"id": self.letter["vendor_id"]}

    async def objection(self) -> Objection | None:
        """Object to whatever it is."""
        return Objection("fraud_suspected", self.letter["id"], "This smells.")


class KeepsQuiet(NeverRefuses, Clerk):
    """Ends every ticket as fraud and reports nothing."""

    async def objection(self) -> Objection | None:
        """Object to whatever it is."""
        return Objection("fraud_suspected", self.letter["id"], "This smells.")

    async def report(self, objection: Objection) -> None:
        """Say nothing."""


class Miscopies(NeverRefuses, Clerk):
    """Has another account checked than is released."""

    def earlier_fields(self, words: str) -> Json:
        """Miscopy the last digit."""
        fields = super().earlier_fields(words)
        return {**fields, "new_iban": f"{fields['new_iban'][:-1]}{(int(fields['new_iban'][-1]) + 1) % 10}"}


OWN: dict[str, type[Worker]] = {
    "enter_first": EntersFirst,
    "skip_the_check": SkipsTheCheck,
    "ask_for_both_at_once": AsksForBothAtOnce,
    "one_hand": OneHand,
    "forget_the_vendor": ForgetsTheVendor,
    "forget_the_request": ForgetsTheRequest,
    "mistype": Mistypes,
    "trust_the_letter": TrustsTheLetter,
    "forget_an_invoice": ForgetsAnInvoice,
    "cry_fraud": CriesFraud,
    "keep_quiet": KeepsQuiet,
    "miscopy": Miscopies,
    "old_policy": laid_over(OldPolicy, Clerk),
    "new_policy": laid_over(NewPolicy, Clerk),
}
CHEATS = cheats_of(Clerk, OWN)
NEEDS = {
    **USUAL_NEEDS,
    "one_hand": "approver_out_of_office",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
