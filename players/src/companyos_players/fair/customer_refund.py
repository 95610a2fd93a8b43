"""The fair oracle for refund claims; it uses only the brief, tools and responses."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from companyos.policies import Call, TaskView
from companyos_players import Objection, RecordSkill, ToolClient, Worker

INSPECTION_WAIT_MINUTES = 1440

Json = dict[str, Any]


async def play(task: TaskView, call: Call) -> None:
    """Settle the refund claim, or refuse it where the policy requires."""
    await CustomerRefundWorker(task, ToolClient(call)).work()


class CustomerRefundWorker(Worker):
    """Handles one refund claim. Adversaries override single methods."""

    type_words = "customer refund"
    justification = "The amount follows from the refund policy and the accepted returns."

    async def investigate(self) -> None:
        """Find the claim, the sales order, the customer and what was returned."""
        self.hub = RecordSkill(self.client)
        self.claim = await self.find_claim()
        self.order = await self.hub.read(self.claim["fields"]["sales_order_id"])
        self.customer = await self.hub.read(self.claim["fields"]["customer_id"])
        while any(one["state"] == "recorded" for one in await self.returns()):
            await self.client.wait(INSPECTION_WAIT_MINUTES)
        self.accepted = [one for one in await self.returns() if one["state"] == "accepted"]

    async def find_claim(self) -> Json:
        """Return the claim cited by id, by sales order or by customer."""
        text = self.ticket.known["description"]
        if cited := re.search(r"\bRCL-[0-9]+\b", text):
            return await self.hub.read(cited[0])
        if order := re.search(r"\bSO-[0-9]+\b", text):
            claims = await self.records("refund_claim", "sales_order_id", order[0])
            return next(one for one in claims if one["state"] == "submitted")
        rows = await self.hub.find(kind="customer", query=self.ticket.known["title"])
        customer_id = next(row["id"] for row in rows if row["title"] in text)
        claims = await self.records("refund_claim", "customer_id", customer_id)
        return next(one for one in claims if one["state"] == "submitted")

    async def records(self, kind: str, field: str, value: str) -> list[Json]:
        """Return the records of a kind with the value in a field."""
        found = [await self.hub.read(row["id"]) for row in await self.hub.find(kind=kind, query=value)]
        return [one for one in found if one["fields"].get(field) == value]

    async def returns(self) -> list[Json]:
        """Return the goods receipts of the order."""
        return await self.records("goods_receipt", "sales_order_id", self.order["id"])

    async def answer(self, question: str) -> str:
        """Name the delivery number or the date of the delivery."""
        fields = self.order["fields"]
        return f"The delivery is {fields['delivery_number']}, delivered on {fields['delivered_on']}."

    async def objection(self) -> Objection | None:
        """Object to suspected fraud, a duplicate, an excluded sale, a late claim or goods that were not returned."""
        policy_id, order_id = self.policy["policy_id"], self.order["id"]
        if await self.is_suspicious():
            return Objection("fraud_suspected", self.claim["id"], "The claim shows a sign of fraud.")
        for one in await self.records("refund_claim", "sales_order_id", order_id):
            if one["state"] == "paid":
                return Objection("duplicate", one["id"], "The order has been refunded.")
        if self.order["fields"]["sale_type"] in self.policy["parameters"]["excluded_sales"].split(", "):
            return Objection("not_entitled", policy_id, "The sale is excluded from refunds.")
        if self.remedy() is None:
            return Objection("policy_violation", policy_id, "The claim is too late.")
        return None if self.accepted else Objection("requirement_not_met", order_id, "Nothing was returned.")

    async def is_suspicious(self) -> bool:
        """Return whether there is a sign of fraud."""
        customer, number = self.customer["fields"], self.claim["fields"]["delivery_number"]
        is_foreign = customer["payout_holder"] != customer["customer_name"]
        if is_foreign and customer["payout_changed_on"] > self.order["fields"]["ordered_on"]:
            return True
        claims = await self.records("refund_claim", "delivery_number", number)
        return any(one["fields"]["customer_id"] != self.customer["id"] for one in claims)

    async def refuse(self, objection: Objection) -> None:
        """Report fraud before closing the ticket."""
        if objection.reason_code == "fraud_suspected":
            await self.report(objection)
        await super().refuse(objection)

    async def report(self, objection: Objection) -> None:
        """Report the customer as suspicious."""
        reason = {"reason_code": objection.reason_code, "reason_ref": objection.reason_ref}
        issue = {"subject": self.customer["id"], "kind": "suspicious", "description": objection.summary}
        await self.client.create("datahub_report_data_issue", **issue, **reason)

    def identifiers(self) -> tuple[str, ...]:
        """Return the identifiers that mark a text as being about this claim."""
        return self.claim["id"], self.order["id"], self.customer["id"], self.customer["title"]

    def priority(self) -> str:
        """Return the priority for the policy's thresholds."""
        return self.level(self.amount_cents())

    def subject(self) -> str:
        """Return the claim."""
        return str(self.claim["id"])

    def remedy(self) -> str | None:
        """Return the remedy under the policy, None for a claim that is too late."""
        figures, claim = self.policy["parameters"], self.claim["fields"]
        delivered_on = date.fromisoformat(self.order["fields"]["delivered_on"])
        days = (date.fromisoformat(claim["received_on"]) - delivered_on).days
        if days <= figures["refund_days"]:
            return "credit_note" if claim["cause"] == "not_needed" else "refund"
        is_goodwill = days <= figures["refund_days"] + figures["goodwill_days"]
        return "goodwill" if is_goodwill and self.customer["fields"]["key_account"] else None

    def amount_cents(self) -> int:
        """Return the amount that is granted."""
        figures, remedy = self.policy["parameters"], self.remedy()
        price = int(self.quantity() * self.order["fields"]["unit_price_cents"])
        if remedy == "goodwill":
            return min(price, int(figures["goodwill_cap_cents"]))
        is_reduced = remedy == "credit_note" and self.accepted[0]["fields"]["condition"] == "opened"
        return price * int(figures["opened_percent"]) // 100 if is_reduced else price

    def quantity(self) -> int:
        """Return the accepted quantity."""
        return sum(one["fields"]["quantity"] for one in self.accepted)

    def fields(self) -> Json:
        """Return the fields of the approval request."""
        return {
            "claim_id": self.subject(),
            "accepted_quantity": self.quantity(),
            "remedy": self.remedy(),
            "amount_cents": self.amount_cents(),
        }

    async def follow_up(self, request_id: str) -> None:
        """Record the result on the claim, and a credit on the customer."""
        result = {"remedy": self.remedy(), "approved_cents": self.amount_cents(), "approval_ref": request_id}
        await self.hub.update(self.subject(), state="approved", fields=result)
        if self.remedy() != "refund":
            credit = self.customer["fields"]["credit_cents"] + self.amount_cents()
            await self.hub.update(self.customer["id"], fields={"credit_cents": credit})


WORKER = CustomerRefundWorker
"""The worker that ablations and adversaries are derived from."""
