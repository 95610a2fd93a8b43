"""Subjects of requests: types of approval that concern a record, and the records that requests are about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from companyos_gateway.world.calendar import office_moment, working_days_from
from companyos_gateway.world.documents.datahub import RecordRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.records import CURRENCY
from companyos_shared.streams import Stream

TERM_DAYS = 365


@dataclass(frozen=True, kw_only=True)
class Subjects:
    """A type of approval, and what the records look like that its requests are about."""

    type_key: str
    title: str
    topic: str
    record_kind: str
    prefix: str
    id_field: str
    state: str
    fields: tuple[tuple[str, str | int | bool], ...]

    def twin(self) -> Subjects:
        """Return another type whose name is nearly the same."""
        return replace(self, type_key=f"{self.type_key}_framework", title=f"{self.title} under a framework")


TYPES = (
    Subjects(
        type_key="purchase_order",
        title="Purchase order",
        topic="purchasing",
        record_kind="purchase_order",
        prefix="PO",
        id_field="order_id",
        state="draft",
        fields=(("item", "as quoted"), ("quantity", 1), ("cost_center", "CC-210")),
    ),
    Subjects(
        type_key="contract_renewal",
        title="Contract renewal",
        topic="renewals",
        record_kind="contract",
        prefix="CTR",
        id_field="contract_id",
        state="in_review",
        fields=(("contract_type", "services"), ("notice_days", 60), ("auto_renews", False)),
    ),
)


def add_subject(world: World, stream: Stream, of: Subjects, amount_cents: int, *, owner_id: str) -> RecordRow:
    """Add the record that a request is about."""
    vendor = stream.choice(world.hub.vendors)
    starts_on = working_days_from(world.today, -stream.integer(20, 40))
    filed_at = office_moment(stream, starts_on)
    record = RecordRow(
        id=world.ids.take(of.prefix),
        kind=of.record_kind,
        title=f"{of.title}: {vendor.name}",
        state=of.state,
        owner_id=owner_id,
        vendor_id=vendor.id,
        amount_cents=amount_cents,
        currency=CURRENCY,
        starts_on=starts_on,
        ends_on=starts_on + timedelta(days=TERM_DAYS),
        fields=dict(of.fields),
        created_at=filed_at,
        updated_at=filed_at,
    )
    world.hub.records.append(record)
    return record
