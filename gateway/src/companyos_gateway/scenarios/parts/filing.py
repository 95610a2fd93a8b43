"""Filing records of any kind: on a day, by somebody who works here."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from companyos_gateway.world.calendar import office_moment
from companyos_gateway.world.documents.datahub import RecordRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.records import CURRENCY, PREFIXES
from companyos_shared.streams import Stream

LATEST = timedelta(minutes=5)
"""How long before the story starts the last record was filed."""


def file_record(
    world: World,
    stream: Stream,
    kind: str,
    *,
    title: str,
    state: str,
    day: date,
    fields: dict[str, Any],
    vendor_id: str | None = None,
    amount_cents: int | None = None,
    starts_on: date | None = None,
    ends_on: date | None = None,
) -> RecordRow:
    """Add a record that was filed on that day, and return it."""
    filed_at = min(office_moment(stream, day), world.started_at - LATEST)
    record = RecordRow(
        id=world.ids.take(PREFIXES[kind]),
        kind=kind,
        title=title,
        state=state,
        owner_id=stream.choice(world.staff.active()).id,
        vendor_id=vendor_id,
        amount_cents=amount_cents,
        currency=None if amount_cents is None else CURRENCY,
        starts_on=starts_on,
        ends_on=ends_on,
        fields=fields,
        created_at=filed_at,
        updated_at=filed_at,
    )
    world.hub.records.append(record)
    return record
