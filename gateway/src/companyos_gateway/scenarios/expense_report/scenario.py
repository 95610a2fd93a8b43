"""Expense reports: receipts on file, one approval for the whole report, every record approved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

from companyos_gateway.scenarios import kit

TYPE_KEY = "expense_report"
LEAD, CONTROLLER, CFO = kit.Role.TEAM_LEAD, kit.Role.FINANCE_CONTROLLER, kit.Role.CFO
AMOUNTS = {LEAD: (24_000, 80_000), CONTROLLER: (120_000, 400_000), CFO: (600_000, 1_800_000)}
"""Ranges of amounts in cents, by the role that decides about them."""

RECEIPT_FROM_CENTS = (1_500, 9_000)
LIMITS_CENTS = {"lodging": (9_000, 24_000), "meal": (3_000, 9_000)}
LIMIT_STEP_CENTS = 500
UNITS = {"lodging": "nights", "meal": "attendees"}
"""The field that counts the units of a category whose price per unit is limited."""

UNIT_COUNTS = {LEAD: (2, 5), CONTROLLER: (10, 30)}
"""Nights or attendees by the role that decides; the CFO decides about no expense with a limit per unit."""

UNLIMITED, PERSONAL = ("travel", "training", "equipment"), ("fine", "minibar", "gift", "clothing", "phone_cover")
RECEIPT_DAYS, RECEIPT_MINUTES = timedelta(days=5), (120, 960)
"""Period in which the employee files a missing receipt, and range of office minutes until then."""


class Variant(StrEnum):
    """Variant of the case: complete, receipt elsewhere or late, two records, or flat rate."""

    WHOLE = "whole"
    FOUND = "found"
    COMES = "comes"
    SPLIT = "split"
    PER_DIEM = "per_diem"


class RefusalGround(StrEnum):
    """Ground for refusing a report; the value is the policy's reason code."""

    OVER_LIMIT = "policy_violation"
    PERSONAL = "not_entitled"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report as it was filed; the ticket names the first of its records."""

    variant: Variant
    ground: RefusalGround | None
    role: kit.Role
    owner: kit.Person
    manager_id: str
    records: tuple[kit.RecordRow, ...]
    paid_ids: tuple[str, ...]
    """The paid record with the same receipt number, if there is one."""

    @property
    def first(self) -> kit.RecordRow:
        """The first record."""
        return self.records[0]

    @property
    def amounts(self) -> list[int]:
        """The amount of each record, in cents."""
        return [record.amount_cents for record in self.records if record.amount_cents is not None]

    @property
    def missing_receipt(self) -> dict[str, Any]:
        """The fields that the first record still needs; empty if no receipt is missing."""
        is_missing = self.variant in (Variant.FOUND, Variant.COMES)
        return {"receipt_attached": True, "receipt_total_cents": self.first.amount_cents} if is_missing else {}


class ExpenseReport(kit.DeclaredScenario[Report]):
    """Reimburse an expense: check record and receipts, get the approval that the amount requires, and record it."""

    name, team, topic, max_steps = "expense_report", kit.FINANCE, "expenses", 140
    tags, duplicate_tags = ("expenses",), ("expenses", "repayment")
    held_out = frozenset({Variant.SPLIT.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.APPROVER_OUT_OF_OFFICE)
    applicable = kit.buildable_kinds(exclude=(*kit.METRIC_KINDS, kit.Kind.EXPIRED_CERTIFICATE), opt_in=kit.OPT_IN_KINDS)
    distractors = (*kit.USUAL_DISTRACTORS, "ticketdesk_link_tickets", "datahub_query_metric")

    def draw(self, build: kit.BuildContext) -> Report:
        """Add the records of a report, its receipt if it is filed elsewhere, and similar expenses."""
        world, stream = build.world, build.stream
        people = world.present(build.today, build.today + RECEIPT_DAYS)
        owner = stream.choice([one for one in people if not one.roles and one.id != world.agent_id])
        ground, variant = build.draw_ground(RefusalGround), stream.choice(list(Variant))
        if ground is not None and variant is not Variant.FOUND:
            variant = Variant.WHOLE
        category, role = _draw_category(stream, variant, ground)
        records = _file_records(build, owner, variant, category, role)
        first = records[0]
        if variant is Variant.FOUND:
            title = stream.choice(self.texts()["receipts"]["found"]).format(title=first.title)
            fields = {"expense_id": first.id, "total_cents": first.amount_cents}
            day = first.created_at.date()
            build.file_document("receipt", title, day=day, fields=fields, owner_id=owner.id)
        is_paid = ground is RefusalGround.DUPLICATE
        paid = _add_paid(build, first, is_same=is_paid)
        if kit.Kind.SIMILAR_NAMES in build.kinds:
            others = [one.id for one in world.staff.active() if one.id != owner.id and not one.roles]
            amount_cents = kit.rounded_amount(stream, 20_000, 300_000)
            _add_similar(build, first, {}, owner_id=stream.choice(others), amount_cents=amount_cents)
        return Report(
            variant=variant,
            ground=ground,
            role=role,
            owner=owner,
            manager_id=world.staff.lead(owner.team_id).id,
            records=tuple(records),
            paid_ids=(paid.id,) if is_paid else (),
        )

    def slots(self, facts: Report) -> Mapping[str, str]:
        """Return the first record and the employee who paid."""
        first, owner = facts.first, facts.owner
        named = {"expense": first.id, "title": first.title, "owner": owner.name, "owner_id": owner.id}
        return named | {name: first.fields[name] for name in ("purpose", "cost_center", "incurred_on")}

    def figures(self, facts: Report, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities and categories; another version puts the report on the other side of them."""
        whole, category = sum(facts.amounts), facts.first.fields["category"]
        step = LIMIT_STEP_CENTS
        limits = {name: step * stream.integer(low // step, top // step) for name, (low, top) in LIMITS_CENTS.items()}
        if category in UNITS:
            each = whole // facts.first.fields[UNITS[category]]
            is_over = (facts.ground is RefusalGround.OVER_LIMIT) is in_force
            share = stream.integer(60, 90) if is_over else stream.integer(105, 160)
            limits[category] = each * share // 100 // step * step + (0 if is_over else step)
        excluded = stream.sample([name for name in PERSONAL if name != category], 2)
        if facts.ground is RefusalGround.PERSONAL:
            excluded.append(category)
        return {
            **kit.priority_limits(stream, whole, priority, step=kit.limit_step(whole)),
            "receipt_from_cents": kit.rounded_amount(stream, *RECEIPT_FROM_CENTS),
            **{f"{name}_limit_cents": limit for name, limit in limits.items()},
            "not_repaid": ", ".join(sorted(excluded)),
        }

    def thresholds(self, facts: Report, stream: kit.Stream, request: kit.Request) -> kit.Thresholds:
        """Draw limits by which the role decides about the whole report, but not about one of two records alone."""
        whole, largest = sum(facts.amounts), max(facts.amounts)
        above = kit.rounded_amount(stream, whole, whole * 2)
        under = kit.rounded_amount(stream, largest if largest < whole else whole // 2, whole - 500)
        lead_limit, controller_limit = {
            LEAD: (above, above * stream.integer(3, 6)),
            CONTROLLER: (under, above),
            CFO: (max(500, under // stream.integer(4, 8) // 500 * 500), under),
        }[facts.role]
        return [(lead_limit, LEAD), (controller_limit, CONTROLLER), (None, CFO)]

    def deputies(self, build: kit.BuildContext, facts: Report, request: kit.Request) -> set[str]:
        """Return the people who may stand in; for the manager, members of the employee's team and of other teams."""
        if facts.role is not LEAD:
            return kit.leads_and_finance(build.world) - {facts.owner.id}
        teams = (kit.FINANCE, "procurement", "data", facts.owner.team_id)
        return kit.members_without_role(build.world, *teams) - {facts.owner.id}

    def solution(self, facts: Report, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Add a missing receipt and approve every record, or refuse."""
        first, missing, whole = facts.first.id, facts.missing_receipt, sum(facts.amounts)
        has_receipts = kit.AfterRecordUpdate(True, first, missing, by_colleague=facts.variant is Variant.COMES)
        request = kit.Request(
            type_key=TYPE_KEY,
            subject=first,
            role=facts.role,
            holder_ids=frozenset({facts.manager_id}) if facts.role is LEAD else None,
            amount_cents=whole,
            fields=kit.request_fields(
                expense_id=first,
                amount_cents=whole,
                has_receipts=has_receipts if missing else facts.variant is not Variant.PER_DIEM,
                records=len(facts.records),
            ),
        )
        ids = tuple(record.id for record in facts.records)
        paid = [kit.record_found(one, facts.first.fields["receipt_number"]) for one in facts.paid_ids]
        outcome = kit.Outcome(
            requests=(request,),
            goals=tuple(
                kit.RecordGoal(
                    record_id=one, state="approved", fields=missing if one == first else {}, may_set_fields_early=True
                )
                for one in ids
            ),
            facts=(kit.record_shown(first), *paid),
            subjects=ids,
        )
        refusal = kit.refusal_for(facts.ground, policy, *facts.paid_ids)
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=refusal)

    def add_events(self, build: kit.BuildContext, facts: Report, ticket: kit.TaskTicket) -> None:
        """Add a comment in which the employee announces a receipt, and schedule its addition to the record."""
        world, stream = build.world, build.stream
        if facts.variant is not Variant.COMES:
            return
        body = stream.choice(self.texts()["receipts"]["comes"])
        kit.add_later_comment(world, stream, ticket.ticket, author_id=facts.owner.id, body=body)
        due_at = world.company().add_office_minutes(world.started_at, stream.integer(*RECEIPT_MINUTES))
        data = {"record_id": facts.first.id, "fields": facts.missing_receipt}
        world.datahub.scheduled_events.append(kit.DataHubEvent(due_at=due_at, kind="record", data=data))


def _draw_category(stream: kit.Stream, variant: Variant, ground: RefusalGround | None) -> tuple[str, kit.Role]:
    """Draw the category of an expense and the role that decides, such that the category's amounts are plausible."""
    if ground is RefusalGround.PERSONAL:
        return stream.choice(PERSONAL), LEAD
    if variant is Variant.PER_DIEM:
        return "per_diem", LEAD
    if variant is Variant.SPLIT:
        return stream.choice(UNLIMITED), stream.choice((CONTROLLER, CFO))
    if ground is not RefusalGround.OVER_LIMIT and stream.chance(0.4):
        return stream.choice(UNLIMITED), stream.choice(list(AMOUNTS))
    return stream.choice(list(UNITS)), stream.choice(list(UNIT_COUNTS))


def _file_records(
    build: kit.BuildContext, owner: kit.Person, variant: Variant, category: str, role: kit.Role
) -> list[kit.RecordRow]:
    """File the records of a report; the first of two refers to the second."""
    stream = build.stream
    amounts = [kit.rounded_amount(stream, *AMOUNTS[role])]
    if variant is Variant.SPLIT:
        amounts.append(kit.rounded_amount(stream, amounts[0] * 2 // 5, amounts[0] * 3 // 5))
        amounts[0] -= amounts[1]
    spent_on = build.working_day_ago(6, 30)
    purpose = stream.choice(kit.load_texts(__file__)["purposes"])
    fields = {
        "category": category,
        "purpose": purpose,
        "cost_center": f"CC-{stream.integer(100, 480)}",
        "incurred_on": spent_on.isoformat(),
    }
    if category in UNITS:
        fields[UNITS[category]] = stream.integer(*UNIT_COUNTS[role])
    records: list[kit.RecordRow] = []
    for amount_cents in amounts:
        receipt = _receipt(stream, amount_cents if variant in (Variant.WHOLE, Variant.SPLIT) else None)
        if category == "per_diem":
            receipt = {"days": stream.integer(5, 9), "receipt_attached": False}
        record = build.file_record(
            "expense",
            title=_title(purpose, spent_on) + (" (continued)" if records else ""),
            state="submitted",
            day=kit.working_days_from(spent_on, stream.integer(1, 3)),
            fields=fields | receipt,
            owner_id=owner.id,
            amount_cents=amount_cents,
            starts_on=spent_on,
        )
        records.append(record)
    if len(records) > 1:
        records[0].fields["continued_in"] = records[1].id
    return records


def _title(purpose: str, day: date) -> str:
    return f"{purpose}, {day.day} {day:%B}"


def _receipt(stream: kit.Stream, total_cents: int | None) -> dict[str, Any]:
    """Return the fields about a receipt, which is not attached if it has no total."""
    return {
        "receipt_number": f"R{stream.integer(10_000, 99_999)}",
        "receipt_attached": total_cents is not None,
        "receipt_total_cents": total_cents or 0,
    }


def _add_paid(build: kit.BuildContext, record: kit.RecordRow, *, is_same: bool) -> kit.RecordRow:
    """Add a paid expense: the same one, or another one with the same amount."""
    spent_on = date.fromisoformat(record.fields["incurred_on"]) if is_same else build.working_day_ago(40, 60)
    filed_on = kit.working_days_from(spent_on, 1)
    paid_at = kit.draw_office_time(build.stream, kit.working_days_from(filed_on, build.stream.integer(1, 3)))
    paid: dict[str, Any] = {"filed_on": filed_on, "state": "paid", "updated_at": paid_at, "version": 3}
    if is_same:
        return _add_similar(build, record, {"receipt_number": record.fields["receipt_number"]}, **paid)
    title, incurred_on = _title(record.fields["purpose"], spent_on), spent_on.isoformat()
    return _add_similar(build, record, {"incurred_on": incurred_on}, title=title, starts_on=spent_on, **paid)


def _add_similar(
    build: kit.BuildContext, record: kit.RecordRow, fields: dict[str, Any], **columns: Any
) -> kit.RecordRow:
    """Add a copy of an expense with these fields and columns changed, and with its own receipt."""
    other = build.copy_record(record, **columns)
    other.fields |= _receipt(build.stream, other.amount_cents) | fields
    other.fields.pop("continued_in", None)
    return other


SCENARIO = ExpenseReport()
