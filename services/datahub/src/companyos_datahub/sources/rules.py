"""Rules of sources."""

from __future__ import annotations

from datetime import datetime

from companyos_datahub.sources.schemas import SourceDetail
from companyos_shared.framework import ServiceError


class SourceNotFoundError(ServiceError):
    status, code, title = 404, "source-not-found", "Source not found"


def is_in_maintenance(source: SourceDetail, now: datetime) -> bool:
    """Return whether `now` is in the maintenance window, which excludes its end."""
    if source.maintenance_from is None or source.maintenance_to is None:
        return False
    return source.maintenance_from <= now < source.maintenance_to
