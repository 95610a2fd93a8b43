"""When a source is in maintenance, and what is refused about sources."""

from __future__ import annotations

from datetime import datetime

from companyos_datahub.sources.model import Source
from companyos_shared.chassis import Problem


class SourceNotFound(Problem):
    status, code, title = 404, "source-not-found", "There is no such source"


def is_in_maintenance(source: Source, now: datetime) -> bool:
    """Return whether `now` lies in the maintenance window; its end no longer belongs to it."""
    if source.maintenance_from is None or source.maintenance_to is None:
        return False
    return source.maintenance_from <= now < source.maintenance_to
