"""The premise of an episode: what every call of it stands on, read once for each source."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from companyos_shared.chassis.database import read_meta
from companyos_shared.wire.company import Company


@dataclass(slots=True)
class Premise:
    """Company, seed of the draws and start of an episode."""

    company: Company
    draw_seed: str
    started_at: datetime

    @classmethod
    def read(cls, db: Connection) -> Premise:
        """Read what was planted; raises LookupError where the file is none of ours."""
        return cls(
            Company.model_validate_json(_planted(db, "company")),
            _planted(db, "draw_seed"),
            datetime.fromisoformat(_planted(db, "started_at")),
        )


def _planted(db: Connection, key: str) -> str:
    value = read_meta(db, key)
    if value is None:
        raise LookupError(f"the database has no {key!r} in its meta table")
    return value
