"""An open epoch of an episode: its connection, what its calls stand on, and what is remembered between them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from companyos_shared.chassis.driver import driver_of
from companyos_shared.chassis.errors import EpisodeOutdated
from companyos_shared.chassis.premises import Premise
from companyos_shared.chassis.readers import Reader
from companyos_shared.wire.control import Report

_RECALL = """
SELECT (SELECT value FROM _meta WHERE key = 'schema'), (SELECT COALESCE(MAX(seq), 0) FROM _changes),
       (SELECT step FROM _applied), (SELECT MIN(due_at) FROM _due)
"""


@dataclass(slots=True)
class Session:
    """An open epoch: its connection, and what is cheap to remember between calls.

    Until it is written to, an epoch of a template has no file: it reads through the reader that it borrowed.
    """

    episode: str
    epoch: int
    source: str
    path: Path
    db: Connection
    schema: str
    premise: Premise
    reader: Reader | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    last_seq: int = 0
    applied_step: int = 0
    next_due_at: datetime | None = None

    def recall(self) -> None:
        """Read from the database what is remembered between calls; raises EpisodeOutdated (410)."""
        schema, self.last_seq, applied_step, next_due_at = driver_of(self.db).execute(_RECALL).fetchone()
        if schema != self.schema:
            raise EpisodeOutdated
        self.applied_step = applied_step or 0
        self.next_due_at = None if next_due_at is None else datetime.fromisoformat(next_due_at)

    def move_on(self, report: Report, *, step: int) -> None:
        """Remember what a committed write reported."""
        self.last_seq = report.changes[-1].seq if report.changes else self.last_seq
        self.applied_step = step or self.applied_step
        self.next_due_at = report.next_due_at
