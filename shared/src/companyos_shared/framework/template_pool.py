"""Shared read-only connections to templates. Epochs of one source share a reader until they write."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from companyos_shared.framework import scheduled_events
from companyos_shared.framework.database import Database
from companyos_shared.framework.episode_constants import EpisodeConstants, EpisodeConstantsCache

_MAX_IDLE = 64


@dataclass(slots=True)
class TemplateReader:
    """A read-only connection to a template, and the initial state of its epochs."""

    source: str
    db: Connection
    constants: EpisodeConstants
    next_due_at: datetime | None
    users: int = 0


class TemplatePool:
    """Cache of readers. Unused readers are closed, the least recently used first."""

    def __init__(self, database: Database, constants: EpisodeConstantsCache) -> None:
        self._database = database
        self._constants = constants
        self._readers: OrderedDict[str, TemplateReader] = OrderedDict()

    def acquire(self, source: str, template: Path) -> TemplateReader:
        """Return the reader of a template; the caller must call `release`."""
        reader = self._readers.get(source)
        if reader is None:
            reader = self._readers[source] = self._open_template(source, template)
        self._readers.move_to_end(source)
        reader.users += 1
        return reader

    def open(self, source: str, template: Path) -> None:
        """Open a template in advance, so that the first call of an episode uses a cached reader."""
        self.release(self.acquire(source, template))

    def release(self, reader: TemplateReader) -> None:
        """Release a borrowed reader."""
        reader.users -= 1
        if reader.users == 0 and self._readers.get(reader.source) is not reader:
            reader.db.close()
        elif len(self._readers) > _MAX_IDLE:
            self._close_idle()

    def forget(self, source: str) -> None:
        """Stop sharing the reader of a deleted template; it is closed after its last user releases it."""
        reader = self._readers.pop(source, None)
        if reader is not None and reader.users == 0:
            reader.db.close()

    def close(self) -> None:
        """Close unused readers and stop sharing the others."""
        for source in list(self._readers):
            self.forget(source)

    def _open_template(self, source: str, template: Path) -> TemplateReader:
        db = self._database.connect_read_only(template)
        try:
            return TemplateReader(source, db, self._constants.read(db), scheduled_events.next_due_at(db))
        except BaseException:
            db.close()
            raise

    def _close_idle(self) -> None:
        for source, reader in list(self._readers.items()):
            if len(self._readers) <= _MAX_IDLE:
                return
            if reader.users == 0:
                self.forget(source)
