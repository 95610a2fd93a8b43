"""A refund claim with its customer, sales order and returns, and the sales and claims of other customers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from companyos_gateway.scenarios import kit

QUANTITIES = {kit.Role.FINANCE_CONTROLLER: (8, 16), kit.Role.CFO: (90, 160)}
"""Range of the ordered units, by the role that decides about the claim."""

PRICES_EUR = (60, 240)
IN_TIME_DAYS = (12, 20)
LATE_DAYS = (35, 45)
"""Range of working days from the delivery to the claim."""

REGULAR, SPECIAL_SALES = "regular", ("outlet", "demo_unit", "custom_made")
CAUSES = ("defective", "wrong_item", "not_needed")
COUNTRIES = ("DE", "FR", "NL", "IE", "ES")
OTHER_CUSTOMERS = 4


class Variant(StrEnum):
    """Variant of the case: what is granted, and whether an inspection has to be awaited."""

    FULL = "full"
    PARTIAL = "partial"
    INSPECTED = "inspected"
    CREDIT = "credit"
    GOODWILL = "goodwill"


class RefusalGround(StrEnum):
    """Ground for refusing a claim: one of two signs of fraud, or a condition that is not met."""

    ACCOUNT = "account"
    DELIVERY = "delivery"
    DUPLICATE = "duplicate"
    EXCLUDED = "excluded"
    LATE = "late"
    NOT_RETURNED = "not_returned"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A refund claim with its records."""

    variant: Variant
    ground: RefusalGround | None
    role: kit.Role
    customer: kit.RecordRow
    order: kit.RecordRow
    record: kit.RecordRow
    returns: tuple[kit.RecordRow, ...]
    """The goods receipts of the order."""
    opened_percent: int
    """Share that the policy in force grants for opened units that are no longer needed."""
    goodwill_cap_cents: int
    conflicting_id: str
    """The paid claim for the same order, or another customer's claim for the same delivery; empty without one."""

    @property
    def is_late(self) -> bool:
        """Return whether the claim was received after the deadline for refunds."""
        return self.variant is Variant.GOODWILL or self.ground is RefusalGround.LATE

    @property
    def age_days(self) -> int:
        """Days from the delivery to the receipt of the claim."""
        received_on, delivered_on = self.record.fields["received_on"], self.order.fields["delivered_on"]
        return (date.fromisoformat(received_on) - date.fromisoformat(delivered_on)).days

    @property
    def accepted(self) -> tuple[kit.RecordRow, ...]:
        """The goods receipts that are accepted at the end."""
        return tuple(one for one in self.returns if one.state != "rejected")

    @property
    def remedy(self) -> str:
        """The remedy under the policy."""
        if self.variant is Variant.GOODWILL:
            return "goodwill"
        return "credit_note" if self.variant is Variant.CREDIT else "refund"

    @property
    def amount_cents(self) -> int:
        """The granted amount in cents; for refused claims, the amount if all units had been accepted."""
        quantity = sum(one.fields["quantity"] for one in self.accepted) or self.record.fields["quantity"]
        amount = int(quantity * self.order.fields["unit_price_cents"])
        if self.remedy == "goodwill":
            return min(amount, self.goodwill_cap_cents)
        is_reduced = self.remedy == "credit_note" and self.returns[0].fields["condition"] == "opened"
        return amount * self.opened_percent // 100 if is_reduced else amount


def add_claim(build: kit.BuildContext) -> Claim:
    """Add the claim with its records, and the sales, returns and claims of other customers."""
    stream, words, ground = build.stream, kit.load_texts(__file__), build.draw_ground(RefusalGround)
    variant = stream.choice(list(Variant)) if ground is None else Variant.FULL
    name, *other_names = stream.sample(words["customers"], 1 + OTHER_CUSTOMERS)
    received_on, role = build.working_day_ago(5, 9), stream.choice(list(QUANTITIES))
    is_late = variant is Variant.GOODWILL or ground is RefusalGround.LATE
    delivered_on = kit.working_days_from(received_on, -stream.integer(*(LATE_DAYS if is_late else IN_TIME_DAYS)))
    customer = _add_customer(build, name, delivered_on, is_suspicious=ground is RefusalGround.ACCOUNT)
    customer.fields["key_account"] |= variant is Variant.GOODWILL
    order = _add_order(build, customer, delivered_on, role, stream.choice(words["items"]))
    is_special = ground is RefusalGround.EXCLUDED or stream.chance(0.6)
    order.fields["sale_type"] = stream.choice(SPECIAL_SALES) if is_special else REGULAR
    cause = CAUSES[-1] if variant is Variant.CREDIT else stream.choice(CAUSES[:-1])
    record = _add_record(build, customer, order, received_on, cause=cause, state="submitted")
    conflicting_id = _add_earlier(build, record, delivered_on, is_paid=ground is RefusalGround.DUPLICATE)
    others = [_add_other(build.child("other", one), one) for one in other_names]
    if ground is RefusalGround.DELIVERY:
        others[0].fields["delivery_number"], conflicting_id = record.fields["delivery_number"], others[0].id
    if kit.Kind.SIMILAR_NAMES in build.kinds:
        _add_other(build.child("similar"), f"{name} {stream.choice(words['branches'])}", state="submitted")
    cap_step = kit.limit_step(record.amount_cents or 0)
    return Claim(
        variant=variant,
        ground=ground,
        role=role,
        customer=customer,
        order=order,
        record=record,
        returns=tuple(
            _add_return(build, record, *part)
            for part in _draw_parts(stream, record.fields["quantity"], variant, ground)
        ),
        opened_percent=5 * stream.integer(10, 17),
        goodwill_cap_cents=cap_step * stream.integer(5, 9),
        conflicting_id=conflicting_id,
    )


def _add_customer(build: kit.BuildContext, name: str, delivered_on: date, *, is_suspicious: bool) -> kit.RecordRow:
    """Add a customer. A suspicious one changed the account after delivery to that of another holder.

    Other customers show at most one of these two signs.
    """
    stream = build.stream
    signs = [(True, True)] if is_suspicious else [(False, False), (True, False), (False, True)]
    is_changed, is_foreign = stream.choice(signs)
    days = stream.integer(1, 4) if is_changed else -stream.integer(30, 200)
    changed_on = kit.working_days_from(delivered_on, days)
    fields = {
        "customer_name": name,
        "payout_iban": kit.draw_iban(stream, stream.choice(COUNTRIES)),
        "payout_holder": stream.choice(kit.load_texts(__file__)["holders"]) if is_foreign else name,
        "payout_changed_on": changed_on.isoformat(),
        "key_account": stream.chance(0.4),
        "credit_cents": stream.choice([0, 0, kit.rounded_amount(stream, 1_000, 40_000)]),
    }
    day = kit.working_days_from(delivered_on, -stream.integer(220, 400))
    customer = build.file_record("customer", title=name, state="active", day=day, fields=fields)
    customer.updated_at, customer.version = kit.draw_office_time(stream, changed_on), 2
    return customer


def _add_order(
    build: kit.BuildContext, customer: kit.RecordRow, delivered_on: date, role: kit.Role, item: str
) -> kit.RecordRow:
    stream = build.stream
    ordered_on = kit.working_days_from(delivered_on, -stream.integer(5, 12))
    quantity, price_cents = stream.integer(*QUANTITIES[role]), 100 * stream.integer(*PRICES_EUR)
    fields = {
        "customer_id": customer.id,
        "item": item,
        "quantity": quantity,
        "unit_price_cents": price_cents,
        "sale_type": REGULAR,
        "ordered_on": ordered_on.isoformat(),
        "delivered_on": delivered_on.isoformat(),
        "delivery_number": f"DN{stream.integer(100_000, 999_999)}",
    }
    title = f"Sales order for {customer.title}: {item}"
    order = build.file_record(
        "sales_order",
        title=title,
        state="delivered",
        day=ordered_on,
        fields=fields,
        amount_cents=quantity * price_cents,
    )
    order.updated_at, order.version = kit.draw_office_time(stream, delivered_on), 3
    return order


def _add_record(
    build: kit.BuildContext, customer: kit.RecordRow, order: kit.RecordRow, day: date, *, cause: str, state: str
) -> kit.RecordRow:
    """Add a refund claim for most or all units of an order."""
    quantity = build.stream.integer(order.fields["quantity"] * 3 // 4, order.fields["quantity"])
    fields = {
        "customer_id": customer.id,
        "sales_order_id": order.id,
        "delivery_number": order.fields["delivery_number"],
        "item": order.fields["item"],
        "cause": cause,
        "quantity": quantity,
        "received_on": day.isoformat(),
    }
    title = f"Refund claim from {customer.title}: {order.fields['item']}"
    amount_cents = quantity * order.fields["unit_price_cents"]
    return build.file_record(
        "refund_claim", title=title, state=state, day=day, fields=fields, amount_cents=amount_cents
    )


def _add_earlier(build: kit.BuildContext, record: kit.RecordRow, delivered_on: date, *, is_paid: bool) -> str:
    """Add a paid claim for the same order and return its ID, or add a rejected one or none and return "" instead."""
    stream = build.stream
    if not is_paid and stream.chance(0.6):
        return ""
    day = kit.working_days_from(delivered_on, stream.integer(1, 4))
    state = "paid" if is_paid else "rejected"
    earlier = build.copy_record(record, {"received_on": day.isoformat()}, filed_on=day, state=state)
    return earlier.id if is_paid else ""


def _draw_parts(
    stream: kit.Stream, quantity: int, variant: Variant, ground: RefusalGround | None
) -> list[tuple[int, str]]:
    """Draw the quantity and the state of each return."""
    if ground is RefusalGround.NOT_RETURNED:
        return stream.choice([[], [(quantity, "rejected")]])
    if variant is Variant.PARTIAL:
        rejected = stream.integer(1, quantity // 4)
        return [(quantity - rejected, "accepted"), (rejected, "rejected")]
    return [(quantity, "recorded" if variant is Variant.INSPECTED else "accepted")]


def _add_return(build: kit.BuildContext, record: kit.RecordRow, quantity: int, state: str) -> kit.RecordRow:
    stream, item = build.stream, record.fields["item"]
    day = kit.working_days_from(date.fromisoformat(record.fields["received_on"]), stream.integer(1, 2))
    fields = {
        "sales_order_id": record.fields["sales_order_id"],
        "quantity": quantity,
        "received_on": day.isoformat(),
        "condition": "opened" if record.fields["cause"] == "defective" else stream.choice(["opened", "unopened"]),
    }
    return build.file_record("goods_receipt", title=f"Customer return: {item}", state=state, day=day, fields=fields)


def _add_other(build: kit.BuildContext, name: str, state: str | None = None) -> kit.RecordRow:
    """Add another customer with an order, a return and a claim, and return the claim."""
    stream, received_on = build.stream, build.working_day_ago(5, 40)
    delivered_on = kit.working_days_from(received_on, -stream.integer(*IN_TIME_DAYS))
    customer = _add_customer(build, name, delivered_on, is_suspicious=False)
    role, item = stream.choice(list(QUANTITIES)), stream.choice(kit.load_texts(__file__)["items"])
    order = _add_order(build, customer, delivered_on, role, item)
    state = state or stream.choice(["approved", "paid", "rejected"])
    claim = _add_record(build, customer, order, received_on, cause=stream.choice(CAUSES), state=state)
    _add_return(build, claim, claim.fields["quantity"], "accepted")
    return claim
