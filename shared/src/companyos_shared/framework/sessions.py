"""Sessions: open epochs with their connection and cached state."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from companyos_shared.framework.database import write_meta
from companyos_shared.framework.episode_constants import EpisodeConstants
from companyos_shared.framework.errors import CorruptEpisodeError, OutdatedEpisodeError, StaleGenerationError
from companyos_shared.framework.storage import sqlite_connection
from companyos_shared.framework.template_pool import TemplateReader
from companyos_shared.wire.context import CallContext
from companyos_shared.wire.control import Report

_SELECT_STATE = """
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
    constants: EpisodeConstants
    reader: TemplateReader | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    last_seq: int = 0
    applied_step: int = 0
    next_due_at: datetime | None = None

    def refresh(self) -> int:
        """Reload the cached state from the database, and return the last generation that wrote.

        Raises OutdatedEpisodeError (410).
        """
        row = sqlite_connection(self.db).execute(_SELECT_STATE).fetchone()
        schema, self.last_seq, applied_step, next_due_at, generation = row
        if schema != self.schema:
            raise OutdatedEpisodeError
        self.applied_step = applied_step or 0
        self.next_due_at = None if next_due_at is None else datetime.fromisoformat(next_due_at)
        return int(generation or 0)

    def fence(self, generation: int) -> None:
        """Reload the state and store the generation, so that older generations can no longer write.

        Requires a write transaction. Raises StaleGenerationError (409) if a newer generation has written.
        """
        last_writer = self.refresh()
        if last_writer > generation:
            raise StaleGenerationError(f"generation must be at least {last_writer}, the last writer; got {generation}")
        if last_writer < generation:
            write_meta(self.db, {"generation": str(generation)})

    def check_written(self, context: CallContext) -> None:
        """Raise CorruptEpisodeError (410) if the database lacks a step or change that was committed."""
        if self._includes(context):
            return
        if self.reader is None:
            self.refresh()
        if not self._includes(context):
            raise CorruptEpisodeError(
                f"The database holds step {self.applied_step} and change {self.last_seq}; "
                f"step {context.written_step} and change {context.written_seq} were committed."
            )

    def _includes(self, context: CallContext) -> bool:
        return self.last_seq >= context.written_seq and self.applied_step >= context.written_step

    def record_commit(self, report: Report, *, step: int) -> None:
        """Update the cached state after a committed write."""
        self.last_seq = report.changes[-1].seq if report.changes else self.last_seq
        self.applied_step = step or self.applied_step
        self.next_due_at = report.next_due_at
