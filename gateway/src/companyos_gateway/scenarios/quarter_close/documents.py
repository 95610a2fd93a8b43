"""Records of a quarter: a budget line, invoices with orders and receipts, and other documents to settle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

from companyos_gateway.scenarios import kit

METRIC_KEY = "budget_used"
SLA_MINUTES = 4320
"""Freshness SLA of the authority on budgets: long enough for a person to decide meanwhile."""

PRICES_CENTS = {kit.Role.FINANCE_CONTROLLER: (2_000, 7_000), kit.Role.CFO: (60_000, 90_000)}
"""Ranges of the unit price in cents, by the role that decides, in steps of a thousand."""

LINE_DAYS, ORDER_DAYS, RECEIPT_DAYS, INVOICE_DAYS = (60, 70), (28, 50), (12, 24), (2, 10)
EXPENSE_DAYS, GRANT_DAYS = (1, 10), (150, 220)
"""Ranges of working days from the filing of each kind of record to the end of the quarter."""


class Variant(StrEnum):
    """Variant of the case: expenses, completed orders or expired access in addition to the invoices."""

    EXPENSES = "expenses"
    ORDERS = "orders"
    GRANTS = "grants"


class RefusalGround(StrEnum):
    """Ground for not closing a quarter; the value is the policy's reason code."""

    OVERSPENT = "policy_violation"
    CANCELLED_ORDER = "requirement_not_met"
    CLOSED_BEFORE = "duplicate"


@dataclass(frozen=True)
class Quarter:
    """A calendar quarter."""

    number: int
    year: int

    def __str__(self) -> str:
        return f"Q{self.number} {self.year}"

    @property
    def last_day(self) -> date:
        """The last day of the quarter."""
        months = 12 * self.year + 3 * self.number
        return date(months // 12, months % 12 + 1, 1) - timedelta(days=1)

    @classmethod
    def ended_before(cls, day: date) -> Quarter:
        """Return the last quarter that ended before a day."""
        quarters = 4 * day.year + (day.month - 1) // 3 - 1
        return cls(quarters % 4 + 1, quarters // 4)


@dataclass(frozen=True)
class Settled:
    """A record that has to be settled, and its goal."""

    record: kit.RecordRow
    goal: kit.RecordGoal


class Documents:
    """Files the documents of a cost center. Each method returns those that have to be settled; the others stay."""

    def __init__(self, build: kit.BuildContext, quarter: Quarter, role: kit.Role, words: Mapping[str, Any]) -> None:
        self.build, self.quarter, self.role, self.words = build, quarter, role, words
        self.world, self.stream = build.world, build.stream
        taken = {str(row.fields.get("cost_center")) for row in self.world.datahub.records}
        self.cost_center = self.stream.choice([name for n in range(500, 900) if (name := f"CC-{n}") not in taken])

    def budget_line(self) -> kit.RecordRow:
        """File the budget line."""
        fields = {"fiscal_year": self.quarter.year, "committed_cents": 0, "spent_cents": 0}
        title, budget = f"Budget {self.quarter}: {self.cost_center}", 100_000 * self.stream.integer(400, 900)
        return self._file("budget_line", title, "active", LINE_DAYS, fields, amount_cents=budget)

    def invoices(self, tolerance: int) -> tuple[Settled, ...]:
        """File invoices with order and receipt: most of them agree, one or two do not."""
        stream, count = self.stream, self.stream.integer(5, 6)
        wrong = stream.sample(range(count), stream.integer(1, 2))
        return tuple(self._invoice(tolerance, is_wrong=place in wrong) for place in range(count))

    def void_invoice(self) -> kit.RecordRow:
        """File an invoice on an order that was cancelled."""
        order = self._order("cancelled")
        return self._file_invoice(order, order.fields["unit_price_cents"])

    def others(self, variant: Variant, expense_limit: int) -> tuple[Settled, ...]:
        """File the documents besides the invoices: some to be settled, and at least one to be left or put on hold."""
        if variant is Variant.EXPENSES:
            hows = self.stream.shuffled(["receipt", "limit", *[""] * self.stream.integer(1, 2)])
            return tuple(self._expense(expense_limit, how) for how in hows)
        add = self._add_order if variant is Variant.ORDERS else self._add_grant
        ends = self.stream.shuffled([True, True, False, *([True] if self.stream.chance(0.5) else [])])
        return tuple(settled for is_settled in ends if (settled := add(is_settled=is_settled)))

    def _add_order(self, *, is_settled: bool) -> Settled | None:
        """File an order, which has to be closed if its receipt shows a complete delivery."""
        order = self._order("open")
        self._receipt(order, missing=0 if is_settled else self.stream.integer(2, 9))
        return _settled(order, "closed") if is_settled else None

    def _add_grant(self, *, is_settled: bool) -> Settled | None:
        """File an access grant of the cost center, which has to expire if its last day has passed."""
        world, stream = self.world, self.stream
        system, days = stream.choice(["ledger-sync", "warehouse-app", "reporting-portal"]), stream.integer(5, 90)
        day = self._draw_day(GRANT_DAYS)
        holder = stream.choice([one for one in world.staff.active() if one.employed_from < day])
        fields = {"person_id": holder.id, "system": system, "access_level": "read"}
        ends_on = world.today + timedelta(days=-days if is_settled else days)
        grant = self._file("access_grant", f"Access to {system}", "active", day, fields, ends_on=ends_on)
        return _settled(grant, "expired") if is_settled else None

    def _invoice(self, tolerance: int, *, is_wrong: bool) -> Settled:
        stream, order = self.stream, self._order("received")
        how = stream.choice(["price", "quantity"]) if is_wrong else ""
        self._receipt(order, missing=stream.integer(2, 9) if how == "quantity" else 0)
        percent = tolerance + stream.integer(1, 6) if how == "price" else stream.integer(0, tolerance)
        invoice = self._file_invoice(order, order.fields["unit_price_cents"] * (100 + percent) // 100)
        return _settled(invoice, "on_hold", {"hold_reason": how}) if how else _settled(invoice, "approved")

    def _file_invoice(self, order: kit.RecordRow, price: int) -> kit.RecordRow:
        day, quantity = self._draw_day(INVOICE_DAYS), order.fields["quantity"]
        fields = {
            "invoice_number": f"R{self.stream.integer(10_000, 99_999)}",
            "purchase_order_id": order.id,
            "quantity": quantity,
            "unit_price_cents": price,
            "due_on": kit.working_days_from(day, self.stream.integer(20, 30)).isoformat(),
            "hold_reason": "",
        }
        title = f"Invoice {fields['invoice_number']}"
        return self._file("invoice", title, "received", day, fields, amount_cents=quantity * price)

    def _order(self, state: str) -> kit.RecordRow:
        stream, (low, high) = self.stream, PRICES_CENTS[self.role]
        item, quantity = stream.choice(self.words["items"]), stream.integer(40, 90)
        price = 1000 * stream.integer(low // 1000, high // 1000)
        requester_id = stream.choice(self.world.staff.active()).id
        fields = {"item": item, "quantity": quantity, "unit_price_cents": price, "requester_id": requester_id}
        title, amount = f"Purchase order: {item}", quantity * price
        return self._file("purchase_order", title, state, ORDER_DAYS, fields, amount_cents=amount)

    def _receipt(self, order: kit.RecordRow, *, missing: int) -> None:
        day, quantity = self._draw_day(RECEIPT_DAYS), order.fields["quantity"] - missing
        fields = {"purchase_order_id": order.id, "quantity": quantity, "received_on": day.isoformat()}
        title = f"Goods receipt: {order.fields['item']}"
        self.build.file_record("goods_receipt", title=title, state="accepted", day=day, fields=fields)

    def _expense(self, limit: int, how: str) -> Settled:
        purpose, (low, high) = self.stream.choice(self.words["purposes"]), (2_000, limit)
        fields = {
            "category": "other",
            "purpose": purpose,
            "incurred_on": self._draw_day((12, 40)).isoformat(),
            "receipt_attached": how != "receipt",
            "attendees": 1,
        }
        amount = kit.rounded_amount(self.stream, *((limit + 500, limit * 2) if how == "limit" else (low, high)))
        title = f"Expense: {purpose}"
        expense = self._file("expense", title, "submitted", EXPENSE_DAYS, fields, amount_cents=amount)
        return _settled(expense, "on_hold" if how else "approved")

    def _draw_day(self, days: tuple[int, int]) -> date:
        """Draw a day within a range of working days before the end of the quarter."""
        return kit.working_days_from(self.quarter.last_day, -self.stream.integer(*days))

    def _file(
        self, kind: str, title: str, state: str, days: tuple[int, int] | date, fields: dict[str, Any], **columns: Any
    ) -> kit.RecordRow:
        """File a record of the cost center, on a day or in a range of working days before the end of the quarter."""
        day = days if isinstance(days, date) else self._draw_day(days)
        fields = {**fields, "cost_center": self.cost_center}
        return self.build.file_record(kind, title=title, state=state, day=day, fields=fields, **columns)


def add_budget_used(build: kit.BuildContext, line: kit.RecordRow, *, is_over: bool) -> kit.MetricSpec:
    """Add the used budget; conflicting values are on the other side of the total budget."""
    world, stream = build.world, build.stream
    whole = (line.amount_cents or 0) // 100
    sources = kit.choose_sources(world, stream, key=METRIC_KEY, other_keys=("delivery_score", "risk_index"))
    if not world.is_kept(sources.authority):
        sources.authority.freshness_sla_minutes = SLA_MINUTES
    within, beyond = (whole // 2, whole - 1), (whole + 1, whole * 3 // 2)
    value = stream.integer(*(beyond if is_over else within))
    plan = kit.MetricPlan(
        key=METRIC_KEY,
        subject=line.id,
        title=line.title.replace("Budget", "Budget used,", 1),
        unit="EUR",
        sources=sources,
        value=value,
        draw_stale_value=lambda own: kit.draw_stale_value(own, METRIC_KEY, value, *within),
        draw_conflicting_value=lambda own: own.integer(*(within if is_over else beyond)),
    )
    return kit.add_task_metric(world, stream, plan, build.kinds)


def _settled(record: kit.RecordRow, state: str, fields: Mapping[str, Any] | None = None) -> Settled:
    return Settled(record, kit.RecordGoal(record_id=record.id, state=state, fields=fields or {}))
