"""Page registry, and queries that several pages share."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select

from companyos_datahub.metrics.schemas import MetricRow, Reading
from companyos_datahub.metrics.service import list_readings
from companyos_datahub.sources.schemas import SourceDetail
from companyos_datahub.tables import metrics, policies, records, sources, vendors
from companyos_shared.framework import Call, Pages

PAGES = Pages("companyos_datahub.pages", app="datahub", title="DataHub")


_PLACES = (
    ("metrics", metrics.c.id),
    ("sources", sources.c.id),
    ("records", records.c.id),
    ("vendors", vendors.c.id),
    ("policies", policies.c.policy_id),
)


def place_of(call: Call, thing_id: object) -> tuple[str, str] | None:
    """Return the parts of the page path of the object with that id, or None."""
    if not isinstance(thing_id, str):
        return None
    if call.company.person(thing_id) is not None:
        return "people", thing_id
    for place, column in _PLACES:
        if call.db.execute(select(column).where(column == thing_id).limit(1)).first() is not None:
            return place, thing_id
    return None


PAGES.opens(place_of)


def readings_of(call: Call, rows: Iterable[MetricRow]) -> dict[str, Reading]:
    """Return the readings of metrics by metric id."""
    return {reading.metric_id: reading for reading in list_readings(call, [row.id for row in rows])}


def sources_of(call: Call, rows: Iterable[MetricRow | Reading]) -> dict[str, SourceDetail]:
    """Return the sources of metrics by id, in order."""
    ids = {row.source_id for row in rows}
    found = call.db.execute(select(sources).where(sources.c.id.in_(ids)).order_by(sources.c.id))
    return {row.id: SourceDetail.model_validate(row) for row in found}


def vendor_names(call: Call, ids: Iterable[str | None]) -> dict[str, str]:
    """Return the names of the vendors among the ids, by id."""
    rows = call.db.execute(select(vendors.c.id, vendors.c.name).where(vendors.c.id.in_({*ids} - {None})))
    return {row.id: row.name for row in rows}
