"""The papers of a quarter: a budget line, invoices with orders and receipts, and what the shape adds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.reported_values import ReportedValue
from companyos_gateway.scenarios.blocks.metrics import MetricPlan, add_task_metric, choose_sources, draw_stale_value
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.scenarios.quarter_close.case import METRIC_KEY, RefusalGround, SettledRecord, Variant
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_time, working_days_from
from companyos_gateway.world.people import FINANCE
from companyos_gateway.world.records import CURRENCY, PREFIXES
from companyos_gateway.world.seed_documents.datahub import RecordRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

INVOICES = (5, 6)
PAPERS = (3, 4)
PRICES_CENTS = {Role.FINANCE_CONTROLLER: (2_000, 7_000), Role.CFO: (60_000, 90_000)}
"""Prices of a piece by the role that will decide, in steps of a thousand cents."""

QUANTITIES = (40, 90)
TOLERANCES = (2, 5)
EXPENSE_LIMITS = (30_000, 60_000)
SLA_MINUTES = 4320
"""What the authority on budgets promises: a person can decide meanwhile."""

LINE_DAYS = (60, 70)
ORDER_DAYS = (28, 50)
RECEIPT_DAYS = (12, 24)
INVOICE_DAYS = (2, 10)
"""How many working days before the end of the quarter an order is filed, then its receipt, then its invoice."""

INCURRED_DAYS = (12, 40)
EXPENSE_DAYS = (1, 10)
GRANT_DAYS = (150, 220)


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

    def draw_day(self, stream: Stream, days: tuple[int, int]) -> date:
        """Draw a working day that many working days before the end of the quarter."""
        return working_days_from(self.last_day, -stream.integer(*days))


@dataclass
class ClosingDocuments:
    """Documents of one cost center, and their required settlement."""

    variant: Variant
    ground: RefusalGround | None
    role: Role
    cost_center: str
    quarter: Quarter
    tolerance: int
    expense_limit: int
    line: RecordRow
    figure: ReportedValue | None = None
    invoices: list[RecordRow] = field(default_factory=list)
    settled: list[SettledRecord] = field(default_factory=list)
    """The papers that have to be settled; the others stay as they are."""
    void: RecordRow | None = None
    """The invoice on an order that was cancelled, where there is one."""

    @property
    def approved_cents(self) -> int:
        """The total of the approved invoices in cents."""
        approved = {one.record_id for one in self.settled if one.state == "approved"}
        return sum(row.amount_cents or 0 for row in self.invoices if row.id in approved)

    @property
    def held(self) -> int:
        """The number of invoices on hold."""
        return sum(1 for one in self.settled if one.state == "on_hold" and one.record_id in self.invoice_ids)

    @property
    def invoice_ids(self) -> tuple[str, ...]:
        """The invoices."""
        return tuple(row.id for row in self.invoices)


def texts() -> dict[str, Any]:
    """Return the texts of the scenario."""
    return load_texts(__file__)


def add_closing_documents(
    world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool
) -> ClosingDocuments:
    """Add everything that is filed on the cost center."""
    ground = stream.choice(list(RefusalGround)) if must_refuse else None
    variant, role = stream.choice(list(Variant)), stream.choice(list(PRICES_CENTS))
    taken = {str(row.fields.get("cost_center")) for row in world.datahub.records}
    cost_center = stream.choice([name for n in range(500, 900) if (name := f"CC-{n}") not in taken])
    quarter = Quarter.ended_before(world.ticket_slots[FINANCE][0].created_at.date())
    documents = ClosingDocuments(
        variant=variant,
        ground=ground,
        role=role,
        cost_center=cost_center,
        quarter=quarter,
        tolerance=stream.integer(*TOLERANCES),
        expense_limit=100 * stream.integer(EXPENSE_LIMITS[0] // 100, EXPENSE_LIMITS[1] // 100),
        line=_line(world, stream, cost_center, quarter),
    )
    _add_invoices(world, stream.child("invoices"), documents)
    _ADD[variant](world, stream.child("papers"), documents)
    _add_figure(world, stream.child("figure"), documents, kinds)
    return documents


def _line(world: WorldBuilder, stream: Stream, cost_center: str, quarter: Quarter) -> RecordRow:
    budget = 100_000 * stream.integer(400, 900)
    fields = {"cost_center": cost_center, "fiscal_year": quarter.year, "committed_cents": 0, "spent_cents": 0}
    title, day = f"Budget {quarter}: {cost_center}", quarter.draw_day(stream, LINE_DAYS)
    return _file(world, stream, "budget_line", title, "active", fields, day=day, amount_cents=budget)


def _add_figure(world: WorldBuilder, stream: Stream, documents: ClosingDocuments, kinds: Collection[Kind]) -> None:
    """Add how much of the budget is used; others see it on the other side of the whole."""
    assert documents.line.amount_cents is not None
    whole = documents.line.amount_cents // 100
    sources = choose_sources(world, stream, key=METRIC_KEY, other_keys=("delivery_score", "risk_index"))
    sources.authority.freshness_sla_minutes = SLA_MINUTES
    within, beyond = (whole // 2, whole - 1), (whole + 1, whole * 3 // 2)
    is_over = documents.ground is RefusalGround.OVERSPENT
    value = stream.integer(*(beyond if is_over else within))
    plan = MetricPlan(
        key=METRIC_KEY,
        subject=documents.line.id,
        title=f"Budget used: {documents.cost_center}, {documents.quarter}",
        unit="EUR",
        sources=sources,
        value=value,
        draw_stale_value=lambda own: draw_stale_value(own, METRIC_KEY, value, *within),
        draw_conflicting_value=lambda own: own.integer(*(within if is_over else beyond)),
    )
    documents.figure = ReportedValue(METRIC_KEY, documents.line.id, add_task_metric(world, stream, plan, kinds))


def _add_invoices(world: WorldBuilder, stream: Stream, documents: ClosingDocuments) -> None:
    """Add invoices with order and receipt: most of them agree, one or two do not."""
    count = stream.integer(*INVOICES)
    wrong = stream.sample(range(count), stream.integer(1, 2))
    hows = [stream.choice(["price", "quantity"]) if place in wrong else "" for place in range(count)]
    for place, how in enumerate(hows):
        own = stream.child(place)
        order = _order(world, own, documents)
        quantity, price = order.fields["quantity"], order.fields["unit_price_cents"]
        received = quantity - own.integer(2, 9) if how == "quantity" else quantity
        percent = documents.tolerance + own.integer(1, 6) if how == "price" else own.integer(0, documents.tolerance)
        _receipt(world, own, documents, order, received)
        invoice = _invoice(world, own, documents, order.id, quantity, price * (100 + percent) // 100)
        state = "on_hold" if how else "approved"
        documents.settled.append(SettledRecord(invoice.id, state, {"hold_reason": how} if how else {}))
    if documents.ground is RefusalGround.CANCELLED_ORDER:
        own = stream.child("cancelled")
        order = _order(world, own, documents, state="cancelled")
        fields = order.fields
        documents.void = _invoice(world, own, documents, order.id, fields["quantity"], fields["unit_price_cents"])


def _order(world: WorldBuilder, stream: Stream, documents: ClosingDocuments, *, state: str = "received") -> RecordRow:
    low, high = PRICES_CENTS[documents.role]
    fields = {
        "item": stream.choice(texts()["items"]),
        "quantity": stream.integer(*QUANTITIES),
        "unit_price_cents": 1000 * stream.integer(low // 1000, high // 1000),
        "cost_center": documents.cost_center,
        "requester_id": stream.choice(world.staff.active()).id,
    }
    amount = fields["quantity"] * fields["unit_price_cents"]
    title, day = f"Purchase order: {fields['item']}", documents.quarter.draw_day(stream, ORDER_DAYS)
    return _file(world, stream, "purchase_order", title, state, fields, day=day, amount_cents=amount)


def _receipt(
    world: WorldBuilder, stream: Stream, documents: ClosingDocuments, order: RecordRow, quantity: int
) -> RecordRow:
    day = documents.quarter.draw_day(stream, RECEIPT_DAYS)
    fields = {"purchase_order_id": order.id, "quantity": quantity, "received_on": day.isoformat()}
    return _file(world, stream, "goods_receipt", f"Goods receipt: {order.fields['item']}", "accepted", fields, day=day)


def _invoice(
    world: WorldBuilder, stream: Stream, documents: ClosingDocuments, order_id: str, quantity: int, price: int
) -> RecordRow:
    day = documents.quarter.draw_day(stream, INVOICE_DAYS)
    fields = {
        "invoice_number": f"R{stream.integer(10_000, 99_999)}",
        "purchase_order_id": order_id,
        "quantity": quantity,
        "unit_price_cents": price,
        "due_on": working_days_from(day, stream.integer(20, 30)).isoformat(),
        "cost_center": documents.cost_center,
        "hold_reason": "",
    }
    title = f"Invoice {fields['invoice_number']}"
    row = _file(world, stream, "invoice", title, "received", fields, day=day, amount_cents=quantity * price)
    documents.invoices.append(row)
    return row


def _add_expenses(world: WorldBuilder, stream: Stream, documents: ClosingDocuments) -> None:
    """Add expenses: approved with a receipt and within the limit, else held."""
    count = stream.integer(*PAPERS)
    hows = stream.shuffled(["receipt", "limit", *[""] * (count - 2)])
    for how in hows:
        limit = documents.expense_limit
        amount = 100 * (
            stream.integer(limit + 100, limit * 2) // 100 if how == "limit" else stream.integer(20, limit // 100)
        )
        fields = {
            "category": "other",
            "purpose": stream.choice(texts()["purposes"]),
            "cost_center": documents.cost_center,
            "incurred_on": documents.quarter.draw_day(stream, INCURRED_DAYS).isoformat(),
            "receipt_attached": how != "receipt",
            "attendees": 1,
        }
        title, day = f"Expense: {fields['purpose']}", documents.quarter.draw_day(stream, EXPENSE_DAYS)
        row = _file(world, stream, "expense", title, "submitted", fields, day=day, amount_cents=amount)
        documents.settled.append(SettledRecord(row.id, "on_hold" if how else "approved"))


def _add_orders(world: WorldBuilder, stream: Stream, documents: ClosingDocuments) -> None:
    """Add orders: closed where the receipt says that everything has come, else left open."""
    for how in stream.shuffled(["", "", "rest", *([""] if stream.chance(0.5) else [])]):
        order = _order(world, stream, documents, state="open")
        quantity = order.fields["quantity"]
        _receipt(world, stream, documents, order, quantity - stream.integer(2, 9) if how else quantity)
        if not how:
            documents.settled.append(SettledRecord(order.id, "closed"))


def _add_grants(world: WorldBuilder, stream: Stream, documents: ClosingDocuments) -> None:
    """Add access that the cost center pays for: ended where its last day has passed, else left as it is."""
    for how in stream.shuffled(["", "", "runs", *([""] if stream.chance(0.5) else [])]):
        days = stream.integer(5, 90)
        fields = {
            "person_id": stream.choice(world.staff.active()).id,
            "system": stream.choice(["ledger", "warehouse", "reporting"]),
            "access_level": "read",
            "cost_center": documents.cost_center,
        }
        ends_on = world.today + timedelta(days=days if how else -days)
        title, day = f"Access to {fields['system']}", documents.quarter.draw_day(stream, GRANT_DAYS)
        row = _file(world, stream, "access_grant", title, "active", fields, day=day, ends_on=ends_on)
        if not how:
            documents.settled.append(SettledRecord(row.id, "expired"))


def _file(
    world: WorldBuilder,
    stream: Stream,
    kind: str,
    title: str,
    state: str,
    fields: dict[str, Any],
    *,
    day: date,
    amount_cents: int | None = None,
    ends_on: date | None = None,
) -> RecordRow:
    filed_at = draw_office_time(stream, day)
    row = RecordRow(
        id=world.ids.take(PREFIXES[kind]),
        kind=kind,
        title=title,
        state=state,
        owner_id=stream.choice(world.staff.active()).id,
        vendor_id=None,
        amount_cents=amount_cents,
        currency=CURRENCY if amount_cents is not None else None,
        starts_on=None,
        ends_on=ends_on,
        fields=fields,
        created_at=filed_at,
        updated_at=filed_at,
    )
    world.datahub.records.append(row)
    return row


_ADD = {Variant.EXPENSES: _add_expenses, Variant.ORDERS: _add_orders, Variant.GRANTS: _add_grants}
