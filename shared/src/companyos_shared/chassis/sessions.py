"""Sessions: open epochs with their connection and cached state."""

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
    """An open epoch: its connection and the state cached between calls.

    Until its first write, an epoch of a template uses a shared reader.
    """

    episode: str
    epoch: int
    source: str
    path: Path | None
    """The epoch's file; None before the first write."""
    db: Connection
    schema: str
    premise: Premise
    reader: Reader | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    last_seq: int = 0
    applied_step: int = 0
    next_due_at: datetime | None = None

    def recall(self) -> int:
        """Reload the cached state from the database, and return the generation that wrote last.

        Raises EpisodeOutdated (410).
        """
        row = driver_of(self.db).execute(_RECALL).fetchone()
        schema, self.last_seq, applied_step, next_due_at, generation = row
        if schema != self.schema:
            raise EpisodeOutdated
        self.applied_step = applied_step or 0
        self.next_due_at = None if next_due_at is None else datetime.fromisoformat(next_due_at)
        return int(generation or 0)

    def fence(self, generation: int) -> None:
        """Inside a write transaction, reload the state and store the generation, which locks out older ones.

        Raises StaleGenerationError (409) if a newer generation has written.
        """
        wrote_last = self.recall()
        if wrote_last > generation:
            raise StaleGenerationError(f"generation must be at least {wrote_last}, the last writer; got {generation}")
        if wrote_last < generation:
            write_meta(self.db, {"generation": str(generation)})

    def check_written(self, context: CallContext) -> None:
        """Raise EpisodeCorrupt (410) if the database lacks a step or change that the gateway knows was committed."""
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
        """Update the cached state after a committed write."""
        self.last_seq = report.changes[-1].seq if report.changes else self.last_seq
        self.applied_step = step or self.applied_step
        self.next_due_at = report.next_due_at
