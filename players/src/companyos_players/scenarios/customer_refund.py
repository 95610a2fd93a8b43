"""The players of refund claims: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

import re
from datetime import date

from companyos_players import Json, Objection, Worker
from companyos_players.adversaries.base import COMMON_REQUIRED_CHAOS, NeverRefuses, build_adversaries

INSPECTION_WAIT_MINUTES = 1440


class CustomerRefundWorker(Worker):
    """Handles one refund claim. Adversaries override single methods."""

    type_words = "customer refund"
    justification = "The amount follows from the refund policy and the accepted returns."

    async def investigate(self) -> None:
        """Find the claim, the sales order, the customer and the accepted goods; wait for inspections."""
        self.claim = await self.find_claim()
        self.order = await self.hub.read(self.claim["fields"]["sales_order_id"])
        self.customer = await self.hub.read(self.claim["fields"]["customer_id"])
        returns = await self.filed("goods_receipt", self.order["id"])
        while any(one["state"] == "recorded" for one in returns):
            await self.client.wait(INSPECTION_WAIT_MINUTES)
            returns = await self.filed("goods_receipt", self.order["id"])
        self.accepted = [one["fields"] for one in returns if one["state"] == "accepted"]
        self.quantity = sum(fields["quantity"] for fields in self.accepted)
        self.remedy, self.amount = self.grant()

    async def find_claim(self) -> Json:
        """Return the claim cited by id, by sales order or by customer."""
        text = self.ticket.known["description"]
        if cited := re.search(r"\b(RCL|SO)-[0-9]+\b", text):
            key = cited[0]
        else:
            rows = await self.hub.find(kind="customer", query=self.ticket.known["title"])
            key = next(row["id"] for row in rows if row["title"] in text)
        return next(one for one in await self.filed("refund_claim", key) if one["state"] == "submitted")

    async def filed(self, kind: str, value: str) -> list[Json]:
        """Return the records of a kind that have the value as id or in a field."""
        found = [await self.hub.read(row["id"]) for row in await self.hub.find(kind=kind, query=value)]
        return [one for one in found if value in (one["id"], *one["fields"].values())]

    async def answer(self, question: str) -> str:
        """Answer with the delivery number and the delivery date."""
        return "The delivery is {delivery_number}, delivered on {delivered_on}.".format(**self.order["fields"])

    async def objection(self) -> Objection | None:
        """Object to suspected fraud, a duplicate, an excluded sale, a late claim or goods that were not returned."""
        claim_id, order_id, policy_id = self.claim["id"], self.order["id"], self.policy["policy_id"]
        if await self.is_suspicious():
            return Objection("fraud_suspected", claim_id, "The claim shows a sign of fraud.")
        for one in await self.filed("refund_claim", order_id):
            if one["state"] == "paid":
                return Objection("duplicate", one["id"], "The order has been refunded.")
        if self.order["fields"]["sale_type"] in self.policy["parameters"]["excluded_sales"].split(", "):
            return Objection("not_entitled", policy_id, "The sale is excluded from refunds.")
        if self.remedy is None:
            return Objection("policy_violation", policy_id, "The claim is too late.")
        return None if self.accepted else Objection("requirement_not_met", order_id, "Nothing was returned.")

    async def is_suspicious(self) -> bool:
        """Return whether there is a sign of fraud."""
        customer, number = self.customer["fields"], self.claim["fields"]["delivery_number"]
        is_changed = customer["payout_changed_on"] > self.order["fields"]["ordered_on"]
        if is_changed and customer["payout_holder"] != customer["customer_name"]:
            return True
        claims = await self.filed("refund_claim", number)
        return any(one["fields"]["customer_id"] != self.customer["id"] for one in claims)

    async def refuse(self, objection: Objection) -> None:
        """Report fraud before closing the ticket."""
        if objection.reason_code == "fraud_suspected":
            reason = {"reason_code": objection.reason_code, "reason_ref": objection.reason_ref}
            issue = {"subject": self.customer["id"], "kind": "suspicious", "description": objection.summary}
            await self.client.create("datahub_report_data_issue", **issue, **reason)
        await super().refuse(objection)

    def identifiers(self) -> tuple[str, ...]:
        return self.claim["id"], self.order["id"], self.customer["id"], self.customer["title"]

    def subject(self) -> str:
        return str(self.claim["id"])

    def grant(self) -> tuple[str | None, int]:
        """Return the remedy and the amount under the policy; a late claim gets no remedy."""
        figures, claim, order = self.policy["parameters"], self.claim["fields"], self.order["fields"]
        price = int(self.quantity * order["unit_price_cents"])
        days = (date.fromisoformat(claim["received_on"]) - date.fromisoformat(order["delivered_on"])).days
        if days > figures["refund_days"]:
            is_goodwill = days <= figures["refund_days"] + figures["goodwill_days"]
            is_goodwill = is_goodwill and self.customer["fields"]["key_account"]
            return ("goodwill", min(price, int(figures["goodwill_cap_cents"]))) if is_goodwill else (None, 0)
        if claim["cause"] != "not_needed":
            return "refund", price
        is_opened = any(fields["condition"] == "opened" for fields in self.accepted)
        return "credit_note", price * int(figures["opened_percent"]) // 100 if is_opened else price

    def amount_cents(self) -> int:
        """Return the amount granted."""
        return self.amount

    def fields(self) -> Json:
        granted = {"remedy": self.remedy, "amount_cents": self.amount}
        return {"claim_id": self.subject(), "accepted_quantity": self.quantity, **granted}

    async def follow_up(self, request_id: str) -> None:
        """Record the result on the claim, and a credit on the customer."""
        result = {"remedy": self.remedy, "approved_cents": self.amount, "approval_ref": request_id}
        await self.hub.update(self.subject(), state="approved", fields=result)
        if self.remedy != "refund":
            credit = self.customer["fields"]["credit_cents"] + self.amount
            await self.hub.update(self.customer["id"], fields={"credit_cents": credit})


class SuspectsEveryone(CustomerRefundWorker):
    """Reports every claim as fraud after reading only the claim."""

    async def investigate(self) -> None:
        self.claim = await self.find_claim()
        self.customer = {"id": self.claim["fields"]["customer_id"]}

    async def objection(self) -> Objection | None:
        return Objection("fraud_suspected", self.claim["id"], "This is surely fraud.")


class PaysAtOnce(NeverRefuses, CustomerRefundWorker):
    """Sets the claim to paid once the amount is approved."""

    async def follow_up(self, request_id: str) -> None:
        await super().follow_up(request_id)
        await self.hub.update(self.subject(), state="paid")


play = CustomerRefundWorker.play
WORKER = CustomerRefundWorker
ADVERSARIES = build_adversaries(
    CustomerRefundWorker,
    {
        "cry_fraud": SuspectsEveryone,
        "pay_at_once": PaysAtOnce,
    },
)
REQUIRED_CHAOS = COMMON_REQUIRED_CHAOS
