"""An open epoch of an episode: its connection, what its calls stand on, and what is remembered between them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from companyos_shared.chassis.database import write_meta
from companyos_shared.chassis.driver import driver_of
from companyos_shared.chassis.errors import EpisodeCorrupt, EpisodeOutdated, StaleGenerationError
from companyos_shared.chassis.premises import Premise
from companyos_shared.chassis.readers import Reader
from companyos_shared.wire.context import CallContext
from companyos_shared.wire.control import Report

_RECALL = """
SELECT (SELECT value FROM _meta WHERE key = 'schema'), (SELECT COALESCE(MAX(seq), 0) FROM _changes),
       (SELECT step FROM _applied), (SELECT MIN(due_at) FROM _due),
       (SELECT value FROM _meta WHERE key = 'generation')
"""


@dataclass(slots=True)
class Session:
    """An open epoch: its connection, and what is cheap to remember between calls.

    Until it is written to, an epoch of a template reads through the reader that it borrowed.
    """

    episode: str
    epoch: int
    source: str
    path: Path | None
    """Its file; None until it is written to."""
    db: Connection
    schema: str
    premise: Premise
    reader: Reader | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    last_seq: int = 0
    applied_step: int = 0
    next_due_at: datetime | None = None

    def recall(self) -> int:
        """Read from the database what is remembered between calls, and return the generation that wrote last.

        Raises EpisodeOutdated (410).
        """
        found = driver_of(self.db).execute(_RECALL).fetchone()
        schema, self.last_seq, applied_step, next_due_at, generation = found
        if schema != self.schema:
            raise EpisodeOutdated
        self.applied_step = applied_step or 0
        self.next_due_at = None if next_due_at is None else datetime.fromisoformat(next_due_at)
        return int(generation or 0)

    def fence(self, generation: int) -> None:
        """In a write transaction, see what other processes wrote and keep older generations from writing later.

        Raises StaleGenerationError (409) where a newer generation has written.
        """
        wrote_last = self.recall()
        if wrote_last > generation:
            raise StaleGenerationError(f"Generation {wrote_last} has written to the episode.")
        if wrote_last < generation:
            write_meta(self.db, {"generation": str(generation)})

    def check_written(self, context: CallContext) -> None:
        """Raise EpisodeCorrupt (410) where the database lacks a step or a change that the gateway knows of."""
        if self._has(context):
            return
        if self.reader is None:
            self.recall()
        if not self._has(context):
            raise EpisodeCorrupt(
                f"The database holds step {self.applied_step} and change {self.last_seq}; "
                f"step {context.written_step} and change {context.written_seq} were committed."
            )

    def _has(self, context: CallContext) -> bool:
        return self.last_seq >= context.written_seq and self.applied_step >= context.written_step

    def move_on(self, report: Report, *, step: int) -> None:
        """Remember what a committed write reported."""
        self.last_seq = report.changes[-1].seq if report.changes else self.last_seq
        self.applied_step = step or self.applied_step
        self.next_due_at = report.next_due_at
