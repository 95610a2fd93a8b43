"""Papers: documents that stand for or against a piece of work, such as holds and reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from companyos_gateway.world.calendar import office_moment, working_days_from
from companyos_gateway.world.documents.datahub import RecordRow
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream


def add_paper(
    world: World, stream: Stream, *, title: str, state: str, fields: Mapping[str, Any], team_id: str = "legal"
) -> RecordRow:
    """File a document of a few days ago, by somebody of a team."""
    filed_at = office_moment(stream, working_days_from(world.today, -stream.integer(2, 9)))
    record = RecordRow(
        id=world.ids.take("DOC"),
        kind="document",
        title=title,
        state=state,
        owner_id=stream.choice(world.staff.active(team_id)).id,
        vendor_id=None,
        amount_cents=None,
        currency=None,
        starts_on=filed_at.date(),
        ends_on=None,
        fields=dict(fields),
        created_at=filed_at,
        updated_at=filed_at,
    )
    world.hub.records.append(record)
    return record
