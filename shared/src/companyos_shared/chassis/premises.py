"""The premise of an episode: what every call of it stands on, read once for each document that was planted."""

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
    """Company, seed of the draws and start of an episode."""

    company: Company
    draw_seed: str
    started_at: datetime


class Premises:
    """The premises of one service process, by document: a snapshot stands on what its template stood on."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Premise] = OrderedDict()

    def of(self, db: Connection) -> Premise:
        """Return what was planted in a database; raises LookupError where the file is none of ours."""
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
