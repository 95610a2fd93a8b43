"""The players of bank detail changes: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from math import ceil

from companyos_players import Json, Objection, OrderedApprovalWorker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    JUSTIFICATION,
    NeverRefuses,
    UsesOneApproverTwice,
    build_adversaries,
    compose,
)
from companyos_players.tool_client import MAX_WAIT_MINUTES

CHECK = "bank details: check"
CALL_WAIT_MINUTES = 1440
OPEN = ("received", "approved")


class VendorBankChangeWorker(OrderedApprovalWorker):
    """Handles one change of bank details. Adversaries override single methods."""

    type_words = "bank details: release"
    earlier_words = (CHECK,)
    justification = "The request agrees with what is on file, and the account is proven."

    note: Json | None = None

    async def investigate(self) -> None:
        """Find the request and the vendor."""
        self.letter = await self.find_letter()
        self.vendor: Json = await self.client.call("datahub_get_vendor", vendor_id=self.letter["vendor_id"])

    async def read_approval_context(self) -> None:
        """Also read the open invoices."""
        await super().read_approval_context()
        if self.given_up() is None and self.note is None:
            self.note = await self.find_note()
        rows = await self.hub.find(kind="invoice", vendor_id=self.vendor["id"])
        self.invoices = [await self.hub.read(row["id"]) for row in rows if row["state"] in OPEN]

    async def find_letter(self) -> Json:
        """Return the cited request, or the cited vendor's request."""
        text = self.ticket.known["description"]
        cited = re.search(r"\bDOC-[0-9]+\b", text)
        if cited:
            return await self.hub.read(cited[0])
        vendor = re.search(r"\bVEN-[0-9]+\b", text)
        vendor_id = vendor[0] if vendor else await self.find_vendor(text)
        for row in await self.hub.find(kind="document", vendor_id=vendor_id, state="in_review"):
            document = await self.hub.read(row["id"])
            if document["fields"]["document_type"] == "bank_change_request":
                return document
        raise LookupError(f"No request is cited in {text!r}")

    async def find_vendor(self, text: str) -> str:
        """Return the vendor named in the text."""
        rows = await self.hub.find(query=self.ticket.known["title"], kind="vendor")
        return str(next(row["id"] for row in rows if row["title"] in text))

    async def find_note(self) -> Json | None:
        """Return the note of the confirmation call, if there is one."""
        for row in await self.hub.find(kind="document", query=self.letter["id"]):
            document = await self.hub.read(row["id"])
            if document["fields"].get("request_id") == self.letter["id"]:
                return document
        return None

    async def answer(self, question: str) -> str:
        """Answer with the receipt date, the account holder, or the end of the vendor's expired certificate."""
        fields = self.letter["fields"]
        if "receive" in question:
            return f"We received the request on {fields['received_on']}."
        if "account holder" in question:
            return f"The account holder is {fields['account_holder']}."
        return f"It expired on {min(item['expires_on'] for item in self.vendor['certificates'])}."

    async def objection(self) -> Objection | None:
        """Object to a suspended vendor, an early change or an unverified request."""
        if self.vendor["status"] == "suspended":
            return Objection("policy_violation", self.vendor["id"], "The vendor is suspended.")
        quiet = timedelta(days=self.policy["parameters"]["quiet_days"])
        received_on = date.fromisoformat(self.letter["fields"]["received_on"])
        changes = [datetime.fromisoformat(item["changed_at"]).date() for item in self.vendor["bank_changes"]]
        if any(received_on - changed_on < quiet for changed_on in changes):
            return Objection("requirement_not_met", self.policy["policy_id"], "The last change is too recent.")
        if self.do_documents_match() and await self.is_proven():
            return None
        return Objection("fraud_suspected", self.letter["id"], "The request is not genuine.")

    def do_documents_match(self) -> bool:
        """Return whether sender, account holder and country match those on file."""
        fields, vendor = self.letter["fields"], self.vendor
        is_sender = fields["sent_from"] == vendor["contact_email"]
        is_holder = fields["account_holder"] == vendor["legal_name"]
        return bool(is_sender and is_holder and fields["new_iban"][:2] == vendor["country"])

    async def is_proven(self) -> bool:
        """Return whether the vendor used the account before or has confirmed it; wait for a pending call."""
        if self.given_up() is not None:
            return True
        self.note = await self.find_note()
        while self.note is not None and self.note["state"] == "draft":
            await self.client.wait(CALL_WAIT_MINUTES)
            self.note = await self.hub.read(self.note["id"])
        if self.note is None:
            return False
        note = self.note["fields"]
        is_contact = note["spoke_to"] == self.vendor["contact_name"]
        return bool(note["confirmed"] and is_contact and note["number_from"] == "vendor record")

    def given_up(self) -> str | None:
        """Return the earlier change that replaced the account, if there is one."""
        for update in self.vendor["bank_changes"]:
            if update["old_iban"] == self.letter["fields"]["new_iban"]:
                return str(update["id"])
        return None

    def proof(self) -> str:
        """Return the id of the record that proves the account."""
        return self.given_up() or str(self.note["id"] if self.note else self.letter["id"])

    async def refuse(self, objection: Objection) -> None:
        """Report fraud before closing the ticket."""
        if objection.reason_code == "fraud_suspected":
            await self.report(objection)
        await super().refuse(objection)

    async def report(self, objection: Objection) -> None:
        """Report the request as suspicious."""
        await self.client.create(
            "datahub_report_data_issue",
            subject=self.vendor["id"],
            kind="suspicious",
            description=objection.summary,
            reason_code=objection.reason_code,
            reason_ref=objection.reason_ref,
        )

    def identifiers(self) -> tuple[str, ...]:
        return self.letter["id"], self.vendor["id"]

    def subject(self) -> str:
        return str(self.vendor["id"])

    def amount_cents(self) -> int:
        """Return the sum of the vendor's open invoices."""
        return sum(invoice["amount_cents"] for invoice in self.invoices)

    def common_fields(self) -> Json:
        """Return the fields that both approval types require."""
        return {"vendor_id": self.subject(), "new_iban": self.letter["fields"]["new_iban"]}

    def earlier_fields(self, words: str) -> Json:
        """Return the fields of the check."""
        return {**self.common_fields(), "request_id": self.letter["id"], "proof_id": self.proof()}

    def fields(self) -> Json:
        """Return the fields of the release."""
        return {**self.common_fields(), "open_amount_cents": self.amount_cents(), "check_ref": self.approval_ids[CHECK]}

    async def follow_up(self, request_id: str) -> None:
        """Enter the account after the waiting period, and archive the request."""
        await self.wait_until_allowed()
        iban = self.letter["fields"]["new_iban"]
        await self.client.call("datahub_update_vendor", vendor_id=self.subject(), bank_iban=iban)
        await self.hub.update(self.letter["id"], state="archived")

    async def wait_until_allowed(self) -> None:
        """Wait for the first day on which the account may be entered."""
        lain = timedelta(days=self.policy["parameters"]["waiting_days"])
        first_day = date.fromisoformat(self.letter["fields"]["received_on"]) + lain
        while self.client.now().date() < first_day:
            left = datetime.combine(first_day, datetime.min.time(), self.client.now().tzinfo) - self.client.now()
            await self.client.wait(min(MAX_WAIT_MINUTES, ceil(left.total_seconds() / 60)))


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


play = VendorBankChangeWorker.play
WORKER = VendorBankChangeWorker
ADVERSARIES = build_adversaries(
    VendorBankChangeWorker,
    {
        "skip_the_check": SkipsCheck,
        "ask_for_both_at_once": RequestsBothAtOnce,
        "one_hand": compose(UsesOneApproverTwice, VendorBankChangeWorker),
        "mistype": EntersWrongAccountFirst,
        "trust_the_letter": TrustsRequestLetter,
        "forget_an_invoice": OmitsSmallestInvoice,
        "cry_fraud": ReportsEveryRequest,
        "keep_quiet": ReportsNoFraud,
    },
)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "one_hand": "approver_out_of_office"}
