"""Readers: templates that are open to be read. Epochs of one source share a reader until they write."""

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
    """A template that nobody can write through this connection, and what every epoch of it starts with."""

    source: str
    db: Connection
    premise: Premise
    next_due_at: datetime | None
    users: int = 0


class Readers:
    """The readers of one service process; those that nobody uses are closed, the least recently used first."""

    def __init__(self, database: Database, premises: Premises) -> None:
        self._database = database
        self._premises = premises
        self._readers: OrderedDict[str, Reader] = OrderedDict()

    def borrow(self, source: str, template: Path) -> Reader:
        """Return the reader of a template for one more user, who gives it back."""
        reader = self._readers.get(source)
        if reader is None:
            reader = self._readers[source] = self._opened(source, template)
        self._readers.move_to_end(source)
        reader.users += 1
        return reader

    def give_back(self, reader: Reader) -> None:
        """Count one user less."""
        reader.users -= 1
        if reader.users == 0 and self._readers.get(reader.source) is not reader:
            reader.db.close()
        elif len(self._readers) > _IDLE_KEPT:
            self._close_idle()

    def forget(self, source: str) -> None:
        """Lend the reader of a template that is deleted to nobody else; who has it goes on reading."""
        reader = self._readers.pop(source, None)
        if reader is not None and reader.users == 0:
            reader.db.close()

    def close(self) -> None:
        """Close what nobody uses and lend nothing that is open any more."""
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
