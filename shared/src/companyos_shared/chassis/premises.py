"""Constants of an episode, cached by seed document."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from companyos_shared.chassis.database import read_meta
from companyos_shared.wire.company import Company

_KEPT = 256


@dataclass(slots=True)
class Premise:
    """Company, random seed and start time of an episode."""

    company: Company
    draw_seed: str
    started_at: datetime


class Premises:
    """Cache of episode constants by seed document. A snapshot shares those of its template."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Premise] = OrderedDict()

    def of(self, db: Connection) -> Premise:
        """Return the constants stored in a database; raises LookupError if they are missing."""
        document = _planted(db, "source")
        premise = self._kept.get(document)
        if premise is None:
            premise = self._kept[document] = _read(db)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return premise


def _read(db: Connection) -> Premise:
    return Premise(
        Company.model_validate_json(_planted(db, "company")),
        _planted(db, "draw_seed"),
        datetime.fromisoformat(_planted(db, "started_at")),
    )


def _planted(db: Connection, key: str) -> str:
    value = read_meta(db, key)
    if value is None:
        raise LookupError(f"the database has no {key!r} in its meta table")
    return value
