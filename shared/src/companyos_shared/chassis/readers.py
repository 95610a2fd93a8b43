"""Shared read-only connections to templates. Epochs of one source share a reader until they write."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from companyos_shared.chassis import due
from companyos_shared.chassis.database import Database
from companyos_shared.chassis.premises import Premise, Premises

_IDLE_KEPT = 64


@dataclass(slots=True)
class Reader:
    """A read-only connection to a template, and the initial state of its epochs."""

    source: str
    db: Connection
    premise: Premise
    next_due_at: datetime | None
    users: int = 0


class Readers:
    """Cache of readers. Unused readers are closed, the least recently used first."""

    def __init__(self, database: Database, premises: Premises) -> None:
        self._database = database
        self._premises = premises
        self._readers: OrderedDict[str, Reader] = OrderedDict()

    def borrow(self, source: str, template: Path) -> Reader:
        """Return the reader of a template; the caller must call `give_back`."""
        reader = self._readers.get(source)
        if reader is None:
            reader = self._readers[source] = self._opened(source, template)
        self._readers.move_to_end(source)
        reader.users += 1
        return reader

    def give_back(self, reader: Reader) -> None:
        """Release a borrowed reader."""
        reader.users -= 1
        if reader.users == 0 and self._readers.get(reader.source) is not reader:
            reader.db.close()
        elif len(self._readers) > _IDLE_KEPT:
            self._close_idle()

    def forget(self, source: str) -> None:
        """Stop sharing the reader of a deleted template; current users keep it."""
        reader = self._readers.pop(source, None)
        if reader is not None and reader.users == 0:
            reader.db.close()

    def close(self) -> None:
        """Close unused readers and stop sharing the others."""
        for source in list(self._readers):
            self.forget(source)

    def _opened(self, source: str, template: Path) -> Reader:
        db = self._database.connect_at_rest(template)
        try:
            return Reader(source, db, self._premises.of(db), due.next_due_at(db))
        except BaseException:
            db.close()
            raise

    def _close_idle(self) -> None:
        for source, reader in list(self._readers.items()):
            if len(self._readers) <= _IDLE_KEPT:
                return
            if reader.users == 0:
                self.forget(source)
