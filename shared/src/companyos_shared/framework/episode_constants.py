"""Constants of an episode, cached by seed document."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from companyos_shared.framework.database import read_meta
from companyos_shared.wire.company import Company

_MAX_CACHED = 256


@dataclass(slots=True)
class EpisodeConstants:
    """Company, random seed and start time of an episode."""

    company: Company
    draw_seed: str
    started_at: datetime
    has_base: bool


class EpisodeConstantsCache:
    """Cache of episode constants by seed document. A snapshot shares those of its template."""

    def __init__(self) -> None:
        self._cache: OrderedDict[str, EpisodeConstants] = OrderedDict()
        self._base_companies: dict[str, Company] = {}
        """Company of each base by its source id."""

    def read(self, db: Connection) -> EpisodeConstants:
        """Return the constants stored in a database; raises LookupError if they are missing."""
        document = _read_required(db, "source")
        constants = self._cache.get(document)
        if constants is None:
            constants = self._cache[document] = self._read(db)
            if len(self._cache) > _MAX_CACHED:
                self._cache.popitem(last=False)
        return constants

    def _read(self, db: Connection) -> EpisodeConstants:
        company = Company.model_validate_json(_read_required(db, "company"))
        base = read_meta(db, "base")
        if base is not None:
            if base not in self._base_companies:
                self._base_companies[base] = Company.model_validate_json(_read_required(db, "base_company"))
            company = company.joined(self._base_companies[base])
        return EpisodeConstants(
            company,
            _read_required(db, "draw_seed"),
            datetime.fromisoformat(_read_required(db, "started_at")),
            has_base=base is not None,
        )


def _read_required(db: Connection, key: str) -> str:
    value = read_meta(db, key)
    if value is None:
        raise LookupError(f"the database has no {key!r} in its meta table")
    return value
