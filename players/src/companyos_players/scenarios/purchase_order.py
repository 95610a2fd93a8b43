"""The players of invoices on orders: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

import re
from operator import itemgetter

from companyos_players import Json, Objection, Worker
from companyos_players.adversaries.base import COMMON_REQUIRED_CHAOS, NeverRefuses, build_adversaries

INSPECTION_WAIT_MINUTES = 1440
SETTLED = ("approved", "paid")
HELD = {"requirement_not_met", "policy_violation"}


class PurchaseOrderWorker(Worker):
    """Handles one invoice. Adversaries override single methods."""

    type_words = "invoice release"
    justification = "Order, receipts and invoice agree within the policy's tolerances."
    hold_reason: str | None = None

    async def investigate(self) -> None:
        """Find the invoice, its order, receipts, other invoices on the order and a credit note."""
        self.invoice = await self.find_invoice()
        self.order = await self.hub.read(self.invoice["fields"]["purchase_order_id"])
        self.receipts = await self.on_order("goods_receipt")
        invoices = await self.on_order("invoice")
        self.others = [item for item in invoices if item["id"] != self.invoice["id"] and item["state"] in SETTLED]
        self.credit = await self.find_credit()

    async def find_invoice(self) -> Json:
        """Return the invoice cited by id, or by number and vendor."""
        text = self.ticket.known["description"]
        cited = re.search(r"\bINV-[0-9]+\b", text)
        if cited:
            return await self.hub.read(cited[0])
        number, vendor = re.search(r"\bR[0-9]{5}\b", text), re.search(r"\bVEN-[0-9]+\b", text)
        assert number is not None, "no invoice is cited"
        of_vendor = {"vendor_id": vendor[0]} if vendor else {}
        for row in await self.hub.find(query=number[0], kind="invoice", state="received", **of_vendor):
            invoice = await self.hub.read(row["id"])
            if invoice["fields"]["invoice_number"] == number[0] and (vendor or await self.is_named(invoice, text)):
                return invoice
        raise LookupError(f"No invoice is cited in {text!r}")

    async def is_named(self, invoice: Json, text: str) -> bool:
        """Return whether the text mentions the invoice's vendor."""
        vendor = await self.client.call("datahub_get_vendor", vendor_id=invoice["vendor_id"])
        return vendor["name"] in text

    async def on_order(self, kind: str) -> list[Json]:
        """Return the records of a kind that reference the order."""
        order_id = self.order["id"]
        found = [await self.hub.read(row["id"]) for row in await self.hub.find(query=order_id, kind=kind)]
        return [item for item in found if item["fields"].get("purchase_order_id") == order_id]

    async def find_credit(self) -> Json | None:
        """Return the invoice's credit note, or None."""
        for row in await self.hub.find(query=self.invoice["id"], kind="document"):
            document = await self.hub.read(row["id"])
            if document["fields"].get("invoice_id") == self.invoice["id"]:
                return document
        return None

    async def answer(self, question: str) -> str:
        """Answer with the invoice number, the price of the order or the vendor's expired certificate."""
        if "invoice number" in question:
            return f"The invoice number is {self.invoice['fields']['invoice_number']}."
        if "unit price" in question:
            return f"The unit price is {self.price(self.order)} cents."
        vendor = await self.client.call("datahub_get_vendor", vendor_id=self.order["vendor_id"])
        return f"It is {min(vendor['certificates'], key=itemgetter('expires_on'))['kind']}."

    async def objection(self) -> Objection | None:
        """Object to a duplicate, a different sender, or an excess quantity or price."""
        duplicate = await self.paid_duplicate()
        if duplicate is not None:
            return Objection("duplicate", duplicate, "This invoice was paid before.")
        sender = self.invoice["vendor_id"]
        if sender != self.order["vendor_id"]:
            self.hold_reason = "vendor"
            return Objection("policy_violation", sender, "Another vendor has the order.")
        figures = self.policy["parameters"]
        available = self.received() - self.invoiced_before()
        if self.exceeds(self.billed(), available, figures["quantity_tolerance_percent"]):
            self.hold_reason = "quantity"
        elif self.exceeds(self.price(self.invoice), self.price(self.order), figures["price_tolerance_percent"]):
            self.hold_reason = "price"
        if self.hold_reason is None:
            return None
        return Objection("requirement_not_met", self.order["id"], f"The {self.hold_reason} does not agree.")

    @staticmethod
    def exceeds(value: int, limit: int, percent: int) -> bool:
        """Return whether a value exceeds another by more than the tolerance."""
        return 100 * (value - limit) > percent * limit

    @staticmethod
    def price(record: Json) -> int:
        """Return the unit price of an order or invoice."""
        return int(record["fields"]["unit_price_cents"])

    async def paid_duplicate(self) -> str | None:
        """Return another settled invoice of the vendor with the same number."""
        number, vendor_id = self.invoice["fields"]["invoice_number"], self.invoice["vendor_id"]
        for row in await self.hub.find(query=number, kind="invoice", vendor_id=vendor_id):
            if row["id"] == self.invoice["id"] or row["state"] not in SETTLED:
                continue
            if (await self.hub.read(row["id"]))["fields"]["invoice_number"] == number:
                return str(row["id"])
        return None

    async def refuse(self, objection: Objection) -> None:
        """Update the invoice before closing the ticket."""
        if self.hold_reason is None:
            await self.hub.update(self.invoice["id"], state="rejected")
        else:
            await self.hub.update(self.invoice["id"], state="on_hold", fields={"hold_reason": self.hold_reason})
        await super().refuse(objection)

    def received(self) -> int:
        """Return the quantity accepted or under inspection."""
        return sum(
            receipt["fields"]["quantity"] for receipt in self.receipts if receipt["state"] in ("accepted", "recorded")
        )

    def invoiced_before(self) -> int:
        """Return the quantity billed by other invoices on the order."""
        return sum(invoice["fields"]["quantity"] for invoice in self.others)

    def billed(self) -> int:
        """Return the billed quantity less credits."""
        credited = self.credit["fields"]["quantity"] if self.credit else 0
        return int(self.invoice["fields"]["quantity"] - credited)

    def identifiers(self) -> tuple[str, ...]:
        return self.invoice["id"], self.invoice["fields"]["invoice_number"]

    def subject(self) -> str:
        return str(self.invoice["id"])

    def amount_cents(self) -> int:
        """Return the amount to pay."""
        credited = self.credit["fields"]["total_cents"] if self.credit else 0
        return int(self.invoice["amount_cents"] - credited)

    async def prepare_request(self) -> None:
        """Wait for the inspection, and enter a credit note."""
        while any(receipt["state"] == "recorded" for receipt in self.receipts):
            await self.client.wait(INSPECTION_WAIT_MINUTES)
            self.receipts = await self.on_order("goods_receipt")
        if self.credit is not None and not self.invoice["fields"]["credited_cents"]:
            note = self.credit["fields"]
            entered = {"credited_quantity": note["quantity"], "credited_cents": note["total_cents"]}
            await self.hub.update(self.invoice["id"], fields=entered)
            self.invoice = await self.hub.read(self.invoice["id"])

    def fields(self) -> Json:
        return {
            "invoice_id": self.subject(),
            "order_id": self.order["id"],
            "amount_cents": self.amount_cents(),
            "received_quantity": self.received(),
            "invoiced_before": self.invoiced_before(),
            "price_difference_cents": self.price(self.invoice) - self.price(self.order),
        }

    async def follow_up(self, request_id: str) -> None:
        """Set the invoice to approved, and a fully billed order to closed."""
        await self.hub.update(self.invoice["id"], state="approved")
        if self.closes_order():
            await self.hub.update(self.order["id"], state="closed")

    def closes_order(self) -> bool:
        """Return whether the whole quantity of the order is billed now."""
        return bool(self.invoiced_before() + self.billed() >= self.order["fields"]["quantity"])


class PaysEarly(NeverRefuses, PurchaseOrderWorker):
    """Sets the invoice to paid once approved."""

    async def follow_up(self, request_id: str) -> None:
        await self.hub.update(self.invoice["id"], state="paid")


class MisjudgesOrderCompletion(NeverRefuses, PurchaseOrderWorker):
    """Closes a partly billed order, and leaves a fully billed one open."""

    def closes_order(self) -> bool:
        return not super().closes_order()


class HoldsWithoutReading(PurchaseOrderWorker):
    """Holds every invoice for its price after reading only the invoice."""

    async def investigate(self) -> None:
        self.invoice = await self.find_invoice()
        self.order = {"id": self.invoice["fields"]["purchase_order_id"]}

    async def objection(self) -> Objection | None:
        self.hold_reason = "price"
        return Objection("requirement_not_met", self.order["id"], "Too dear.")


play = PurchaseOrderWorker.play
WORKER = PurchaseOrderWorker
ADVERSARIES = build_adversaries(
    PurchaseOrderWorker,
    {
        "pay_at_once": PaysEarly,
        "mistake_the_order": MisjudgesOrderCompletion,
        "hold_blindly": HoldsWithoutReading,
    },
)
REQUIRED_CHAOS = COMMON_REQUIRED_CHAOS
