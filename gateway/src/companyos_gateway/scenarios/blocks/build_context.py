"""The context in which a scenario builds its task: the company, a stream for draws, and the chaos kinds that apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

from companyos_gateway.chaos import Kind
from companyos_gateway.world.backlog import add_history
from companyos_gateway.world.builder import KeySlot, WorldBuilder
from companyos_gateway.world.calendar import draw_office_time, working_days_from
from companyos_gateway.world.records import CURRENCY, PREFIXES, rounded_amount
from companyos_gateway.world.seed_documents.datahub import RecordRow, VendorRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority, Status, TicketRow
from companyos_shared.streams import Stream

MIN_AGE = timedelta(minutes=5)
"""Minimum age of a record when the episode starts."""

USED_CENTS = (100_000, 3_000_000)
"""Range of the committed and of the spent amount of a budget line."""

GroundT = TypeVar("GroundT", bound=StrEnum)


@dataclass(frozen=True)
class BuildContext:
    """The company that a task is added to, the stream for its draws, and the chaos kinds that apply to it."""

    world: WorldBuilder
    stream: Stream
    kinds: frozenset[Kind]
    must_refuse: bool
    latest_due_in: tuple[int, int] | None = None
    """Range of working days until the ticket is due; the scenario's own range applies if it is earlier."""
    vendor: VendorRow | None = None
    """The vendor of another case; a task about a vendor must use it."""

    @property
    def today(self) -> date:
        """The day on which the episode starts."""
        return self.world.today

    def child(self, *name: str | int) -> BuildContext:
        """Return a copy of the context with a child stream."""
        return replace(self, stream=self.stream.child(*name))

    def draw_ground(self, grounds: type[GroundT]) -> GroundT | None:
        """Draw the ground for refusal; None if the task can be done."""
        return self.stream.choice(list(grounds)) if self.must_refuse else None

    def working_day(self, low: int, high: int) -> date:
        """Draw a day that is `low` to `high` working days after today."""
        return working_days_from(self.today, self.stream.integer(low, high))

    def working_day_ago(self, low: int, high: int) -> date:
        """Draw a day that is `low` to `high` working days before today."""
        return working_days_from(self.today, -self.stream.integer(low, high))

    def file_record(
        self,
        kind: str,
        *,
        title: str,
        state: str,
        day: date,
        fields: dict[str, Any],
        owner_id: str | None = None,
        team_id: str | None = None,
        vendor_id: str | None = None,
        amount_cents: int | None = None,
        starts_on: date | None = None,
        ends_on: date | None = None,
    ) -> RecordRow:
        """Add a record that was filed on that day, and return it.

        Without an owner, it was filed by a random employee of a team, or of the company.
        """
        filed_at = min(draw_office_time(self.stream, day), self.world.started_at - MIN_AGE)
        record = RecordRow(
            id=self.world.ids.take(PREFIXES[kind]),
            kind=kind,
            title=title,
            state=state,
            owner_id=owner_id or self.stream.choice(self.world.staff.active(team_id)).id,
            vendor_id=vendor_id,
            amount_cents=amount_cents,
            currency=None if amount_cents is None else CURRENCY,
            starts_on=starts_on,
            ends_on=ends_on,
            fields=fields,
            created_at=filed_at,
            updated_at=filed_at,
        )
        self.world.datahub.records.append(record)
        return record

    def file_budget_line(
        self, purpose: str, *, state: str, days: tuple[int, int], owner_id: str, free_cents: int, **fields: str
    ) -> RecordRow:
        """Add a budget line that was filed in a range of working days ago and has so much left, and return it."""
        committed, spent = rounded_amount(self.stream, *USED_CENTS), rounded_amount(self.stream, *USED_CENTS)
        line = self.file_record(
            "budget_line",
            title=f"Budget: {purpose}",
            state=state,
            day=self.working_day_ago(*days),
            owner_id=owner_id,
            fields={
                "cost_center": f"CC-{self.stream.integer(1000, 4999)}",
                "fiscal_year": self.today.year,
                **fields,
                "budget_cents": free_cents + committed + spent,
                "committed_cents": committed,
                "spent_cents": spent,
            },
        )
        line.currency = CURRENCY
        return line

    def copy_budget_line(self, line: RecordRow) -> RecordRow | None:
        """Add a budget line of the same title with another cost center if names are similar, and return it."""
        if Kind.SIMILAR_NAMES not in self.kinds:
            return None
        spent = line.fields["spent_cents"] + rounded_amount(self.stream, 10_000, 90_000)
        cost_center = f"CC-{self.stream.integer(5000, 5999)}"
        return self.copy_record(line, {"cost_center": cost_center, "spent_cents": spent})

    def file_document(
        self, document_type: str, title: str, *, day: date, fields: Mapping[str, Any], **columns: Any
    ) -> RecordRow:
        """Add a document of a type, published unless another state is given, and return it."""
        values = {"document_type": document_type, **fields}
        columns.setdefault("state", "published")
        return self.file_record("document", title=title, day=day, fields=values, **columns)

    def copy_record(
        self,
        record: RecordRow,
        fields: Mapping[str, Any] | None = None,
        *,
        filed_on: date | None = None,
        **columns: Any,
    ) -> RecordRow:
        """Add a copy of a record with a new ID and these fields and columns changed, and return it.

        It was filed at the same time as the record, or on the given day.
        """
        values = {**record.fields, **(fields or {})}
        if filed_on is not None:
            filed_at = draw_office_time(self.stream, filed_on)
            columns = {"created_at": filed_at, "updated_at": filed_at, **columns}
        copied = replace(record, id=self.world.ids.take(PREFIXES[record.kind]), fields=values, **columns)
        self.world.datahub.records.append(copied)
        return copied

    def file_ticket(
        self,
        slot: KeySlot,
        *,
        title: str,
        description: str,
        status: Status | None,
        priority: Priority | None,
        assignee_id: str | None,
        reporter_id: str,
        team_id: str,
        tags: Sequence[str],
        type: str = "task",
        due_at: datetime | None = None,
    ) -> TicketRow:
        """Add a ticket with transitions by its assignee, or else by its reporter, and return it."""
        ticket = TicketRow(
            key=slot.key,
            type=type,
            title=title,
            description=description,
            status=status,
            priority=priority,
            assignee_id=assignee_id,
            reporter_id=reporter_id,
            team_id=team_id,
            tags=list(tags),
            created_at=slot.created_at,
            updated_at=slot.created_at,
            due_at=due_at,
        )
        self.world.ticketdesk.tickets.append(ticket)
        add_history(self.world, self.stream, ticket, assignee_id or reporter_id)
        return ticket
