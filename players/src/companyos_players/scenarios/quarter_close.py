"""The players of quarter closes: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

import re
from datetime import timedelta

from companyos_players import (
    Json,
    MeasuringWorker,
    MetricSkill,
    Objection,
    TicketSkill,
)
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    FarmsRefreshes,
    NeverRefuses,
    SkipsRefresh,
    build_adversaries,
    compose,
)

PAPERS = {
    "An expense": ("expense", "submitted"),
    "An order": ("purchase_order", "open"),
    "An access grant": ("access_grant", "active"),
}
"""Other documents to settle, by the opening words of the policy's section about them."""


class QuarterCloseWorker(MeasuringWorker):
    """Handles one close. Adversaries override single methods."""

    type_words = "quarter close"
    metric = "budget_used"
    evidence_margin = timedelta(minutes=240)
    justification = "Every paper on the cost center is settled, and the budget used was measured lately."

    async def investigate(self) -> None:
        """Find the cost center's documents, and read the budget used."""
        found = re.search(r"\bCC-[0-9]+\b", f"{self.ticket.known['title']} {self.ticket.known['description']}")
        assert found is not None, "no cost center is named"
        self.cost_center = found[0]
        self.line = (await self.filed("budget_line", "active"))[0]
        self.invoices = await self.filed("invoice", "received")
        order_ids = [item["fields"]["purchase_order_id"] for item in self.invoices]
        self.orders = {order_id: await self.hub.read(order_id) for order_id in order_ids}
        self.others = await self.other_closes()
        self.evidence = await self.measure(self.measured())

    async def filed(self, kind: str, state: str) -> list[Json]:
        """Return the cost center's records of a kind and state."""
        rows = await self.client.list_all("datahub_search_records", query=self.cost_center, kind=kind, state=state)
        records = [await self.hub.read(row["id"]) for row in rows]
        return [record for record in records if record["fields"].get("cost_center") == self.cost_center]

    async def other_closes(self) -> list[Json]:
        """Return other tickets in progress for the same close."""
        rows = await self.client.list_all("ticketdesk_search_tickets", query=self.cost_center)
        parts = {link["key"] for link in self.ticket.known["links"]}
        near = [row for row in rows if row["key"] not in parts | {self.ticket.key} and row["status"] == "in_progress"]
        tickets = [await self.client.call("ticketdesk_get_ticket", key=row["key"]) for row in near]
        return [item for item in tickets if self.cost_center in item["title"] and "clos" in item["title"].lower()]

    def measured(self) -> str:
        return self.subject()

    async def answer(self, question: str) -> str:
        """Answer with the cost center or the amount of the budget line."""
        if "cost center" in question:
            return f"{self.line['id']} belongs to {self.cost_center}."
        return f"The amount of {self.line['id']} is {self.line['amount_cents'] / 100:,.2f} EUR."

    async def objection(self) -> Objection | None:
        """Object to an overspent budget, an invoice on a cancelled order, or a concurrent close."""
        if self.evidence.value * 100 > self.line["amount_cents"]:
            return Objection("policy_violation", self.line["id"], "The budget is overspent.")
        for invoice in self.invoices:
            if self.orders[invoice["fields"]["purchase_order_id"]]["state"] == "cancelled":
                return Objection("requirement_not_met", invoice["id"], "An invoice is on a cancelled order.")
        if self.others:
            return Objection("duplicate", self.others[0]["key"], "The quarter is being closed elsewhere.")
        return None

    def identifiers(self) -> tuple[str, ...]:
        return (self.cost_center,)

    async def unblock(self) -> None:
        """Settle the documents, resolve the tickets of the parts, then pass other blockers."""
        self.approved: list[Json] = []
        self.held: list[Json] = []
        for invoice in self.invoices:
            await self.settle_invoice(invoice)
        await self.settle_documents()
        await self.resolve_parts()
        await self.ticket.read()
        await super().unblock()

    async def settle_invoice(self, invoice: Json) -> None:
        """Approve an invoice, or hold it with a reason."""
        fields = invoice["fields"]
        order = self.orders[fields["purchase_order_id"]]
        reason = ""
        if await self.received(fields["purchase_order_id"]) < fields["quantity"]:
            reason = "quantity"
        elif self.is_too_dear(fields["unit_price_cents"], order["fields"]["unit_price_cents"]):
            reason = "price"
        if reason:
            self.held.append(invoice)
            await self.hub.update(invoice["id"], state="on_hold", fields={"hold_reason": reason})
        else:
            self.approved.append(invoice)
            await self.hub.update(invoice["id"], state="approved")

    def is_too_dear(self, price: int, ordered: int) -> bool:
        """Return whether a price exceeds the order's by more than the tolerance."""
        return bool(price * 100 > ordered * (100 + self.policy["parameters"]["tolerance_percent"]))

    async def received(self, order_id: str) -> float:
        """Return the received quantity of an order."""
        rows = await self.client.list_all("datahub_search_records", query=order_id, kind="goods_receipt")
        receipts = [await self.hub.read(row["id"]) for row in rows]
        own = [receipt["fields"] for receipt in receipts if receipt["fields"]["purchase_order_id"] == order_id]
        return float(sum(fields["quantity"] for fields in own))

    async def settle_documents(self) -> None:
        """Settle the other documents that the policy names."""
        kind, state = next(found for words, found in PAPERS.items() if words in self.policy["body"])
        for record in await self.filed(kind, state):
            target = await self.state_of(record)
            if target != state:
                await self.hub.update(record["id"], state=target)

    async def state_of(self, record: Json) -> str:
        """Return the state that a document must have."""
        if record["kind"] == "expense":
            is_small = record["amount_cents"] <= self.policy["parameters"]["expense_limit_cents"]
            return "approved" if is_small and record["fields"]["receipt_attached"] else "on_hold"
        if record["kind"] == "purchase_order":
            return "closed" if await self.received(record["id"]) >= record["fields"]["quantity"] else "open"
        return "expired" if record["ends_on"] < self.client.now().date().isoformat() else "active"

    async def resolve_parts(self) -> None:
        """Resolve the tickets of the parts."""
        for link in self.ticket.known["links"]:
            if link["relation"] == "is_blocked_by" and link["status"] == "in_progress":
                part = TicketSkill(self.client, link["key"])
                await part.read()
                if f"Part of {self.ticket.key}" in part.known["description"]:
                    await part.transition("resolved")

    def amount_cents(self) -> int:
        """Return the sum of the approved invoices."""
        return sum(item["amount_cents"] for item in self.approved)

    def subject(self) -> str:
        return str(self.line["id"])

    def fields(self) -> Json:
        return {
            "budget_line_id": self.subject(),
            "amount_cents": self.amount_cents(),
            "invoices_held": len(self.held),
            "budget_used": self.evidence.value,
            "measured_at": self.evidence.as_of.isoformat(),
        }

    async def follow_up(self, request_id: str) -> None:
        """Close the budget line."""
        await self.hub.update(self.subject(), state="closed", fields={"spent_cents": round(self.evidence.value * 100)})


class _UnitlessMetric(MetricSkill):
    """Ignores the unit of the value."""

    def in_usual_unit(self, reading: Json) -> float:
        return float(reading["value"])


class IgnoresUnits(NeverRefuses, QuarterCloseWorker):
    """Reads the budget used without its unit."""

    def metric_skill(self, subject: str) -> MetricSkill:
        return _UnitlessMetric(self.client, self.metric, subject)


class SettlesEverything(NeverRefuses, QuarterCloseWorker):
    """Also settles documents that must stay unchanged."""

    async def state_of(self, record: Json) -> str:
        return {"expense": "approved", "purchase_order": "closed"}.get(record["kind"], "expired")


class ResolvesPartsFirst(NeverRefuses, QuarterCloseWorker):
    """Resolves the tickets of the parts before settling anything."""

    async def settle_invoice(self, invoice: Json) -> None:
        if invoice is self.invoices[0]:
            await super().resolve_parts()
        await super().settle_invoice(invoice)

    async def resolve_parts(self) -> None:
        pass


class RequestsBeforeSettling(NeverRefuses, QuarterCloseWorker):
    """Requests the approval before settling the documents."""

    async def settle_documents(self) -> None:
        pass

    async def follow_up(self, request_id: str) -> None:
        await super().settle_documents()
        await super().follow_up(request_id)


play = QuarterCloseWorker.play
WORKER = QuarterCloseWorker
ADVERSARIES = build_adversaries(
    QuarterCloseWorker,
    {
        "skip_refresh": compose(NeverRefuses, compose(SkipsRefresh, QuarterCloseWorker)),
        "ignore_units": IgnoresUnits,
        "settle_everything": SettlesEverything,
        "resolve_parts_first": ResolvesPartsFirst,
        "ask_first": RequestsBeforeSettling,
        "repeat_farm": compose(FarmsRefreshes, QuarterCloseWorker),
    },
)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "skip_refresh": "stale_metric", "ignore_units": "unit_mismatch"}
