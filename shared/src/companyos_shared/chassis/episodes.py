"""Episodes of a service: templates by source, one file per epoch opened lazily, connections in an LRU.

The context of a call names (episode, epoch, source). An epoch not seen yet is copied from its source; an epoch older
than the newest is refused, so late writers are fenced off. Live files are never overwritten.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection

from companyos_shared.chassis import due
from companyos_shared.chassis.call import Call
from companyos_shared.chassis.changes import read_rows
from companyos_shared.chassis.columns import time_text
from companyos_shared.chassis.database import (
    Database,
    remove_database,
    required_meta,
    schema_version,
    write_meta,
)
from companyos_shared.chassis.errors import EpisodeDropped, InvalidSeed, SourceMismatch, StaleEpoch, UnknownSource
from companyos_shared.chassis.schemas import SeedDocument
from companyos_shared.chassis.service import Service
from companyos_shared.chassis.sessions import Premise, Session
from companyos_shared.streams import digest
from companyos_shared.wire.company import Company
from companyos_shared.wire.context import CallContext
from companyos_shared.wire.control import LoadReply, Rows

_TEMPLATES_KEPT_IN_MEMORY = 256
_DROPPED_REMEMBERED = 65_536


class Episodes:
    """All episodes of one service process."""

    def __init__(self, service: Service[Any], folder: Path, *, max_open: int, max_template_bytes: int) -> None:
        self.service = service
        self.database = Database(service.metadata)
        self._folder = folder
        self._max_open = max_open
        self._max_template_bytes = max_template_bytes
        self._schema = digest(schema_version(service.metadata))
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._dropped: OrderedDict[str, None] = OrderedDict()
        self._premises: OrderedDict[str, Premise] = OrderedDict()

    def session(self, context: CallContext) -> Session:
        """Return the open epoch of a call; raises UnknownSource (404), StaleEpoch (409) or EpisodeDropped (410)."""
        session = self._open.get(context.episode)
        if session is not None and session.epoch == context.epoch:
            self._open.move_to_end(context.episode)
            return session
        if context.episode in self._dropped:
            raise EpisodeDropped
        newest = session.epoch if session else self._newest_epoch(context.episode)
        if context.epoch < newest:
            raise StaleEpoch(f"The episode is at epoch {newest}.")
        opened = self._open_epoch(context)
        if session is not None:
            session.close()
        if newest and newest != context.epoch:
            remove_database(self._epoch_path(context.episode, newest))
        self._open[context.episode] = opened
        self._open.move_to_end(context.episode)
        self._close_least_used()
        return opened

    def load(self, source: str, document: dict[str, Any] | None) -> LoadReply:
        """Make the source if it is not there, and return its rows at rest."""
        path = self.source_path(source)
        if not path.exists():
            if document is None:
                raise UnknownSource
            self._build(source, document)
        with self.database.connect(path) as db:
            rows = read_rows(db, self.service.metadata)
            return LoadReply(source=source, rows=rows, next_due_at=due.next_due_at(db))

    @asynccontextmanager
    async def turn(self, context: CallContext) -> AsyncIterator[Session]:
        """Hold the open epoch of a call alone; raises UnknownSource (404), StaleEpoch (409), EpisodeDropped (410)."""
        while True:
            session = self.session(context)
            async with session.lock:
                if self._open.get(context.episode) is session:
                    yield session
                    return

    def drop(self, episode: str) -> None:
        """Forget an episode: its connection and its files; a late call does not bring it back. Twice is no error."""
        self._dropped[episode] = None
        if len(self._dropped) > _DROPPED_REMEMBERED:
            self._dropped.popitem(last=False)
        session = self._open.pop(episode, None)
        if session is not None:
            session.close()
        shutil.rmtree(self._folder / "episodes" / episode, ignore_errors=True)

    def snapshot(self, session: Session) -> str:
        """Keep the epoch as it is now as a source, and return its id: the sha256 of the snapshot."""
        made = self._folder / "snapshots" / f"{session.episode}.{session.epoch}.db"
        self.database.vacuum_into(session.db, made)
        source = hashlib.sha256(made.read_bytes()).hexdigest()
        made.replace(self._folder / "snapshots" / f"{source}.db")
        return source

    def source_rows(self, source: str) -> Rows:
        """Return the rows of a source at rest; raises UnknownSource (404)."""
        path = self.source_path(source)
        if not path.exists():
            raise UnknownSource
        with self.database.connect(path) as db:
            return read_rows(db, self.service.metadata)

    def source_path(self, source: str) -> Path:
        """Return where a source lies: a snapshot if there is one of that id, else the template."""
        snapshot = self._folder / "snapshots" / f"{source}.db"
        return snapshot if snapshot.exists() else self._folder / "templates" / self._schema[:16] / f"{source}.db"

    def close(self) -> None:
        """Close every connection; files stay."""
        for session in self._open.values():
            session.close()
        self._open.clear()

    @property
    def open_count(self) -> int:
        """How many epochs are open."""
        return len(self._open)

    def _build(self, source: str, document: dict[str, Any]) -> None:
        if self.service.source_of(document) != source:
            raise SourceMismatch
        try:
            seed = self.service.seed.model_validate(document)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise InvalidSeed(f"{place or 'document'}: {first['msg']}") from error
        self.database.build(self.source_path(source), lambda db: self._plant(db, source, seed))
        self._evict_templates(keep=source)

    def _plant(self, db: Connection, source: str, seed: SeedDocument) -> None:
        write_meta(
            db,
            {
                "source": source,
                "company": seed.company.model_dump_json(),
                "draw_seed": seed.draw_seed,
                "started_at": time_text(seed.started_at),
            },
        )
        call = Call(
            db=db, now=seed.started_at, company=seed.company, service=self.service.name, draw_seed=seed.draw_seed
        )
        self.service.plant(call, seed)

    def _open_epoch(self, context: CallContext) -> Session:
        path = self._epoch_path(context.episode, context.epoch)
        if not path.exists():
            source = self.source_path(context.source)
            if not source.exists():
                raise UnknownSource
            self.database.copy(source, path)
        db = self.database.connect(path)
        try:
            premise = self._premise(context.source, db)
            session = Session(context.episode, context.epoch, context.source, path, db, premise)
            session.recall()
        except BaseException:
            db.close()
            raise
        return session

    def _premise(self, source: str, db: Connection) -> Premise:
        premise = self._premises.get(source)
        if premise is None:
            premise = Premise(
                Company.model_validate_json(required_meta(db, "company")),
                required_meta(db, "draw_seed"),
                datetime.fromisoformat(required_meta(db, "started_at")),
            )
            self._premises[source] = premise
            if len(self._premises) > _TEMPLATES_KEPT_IN_MEMORY:
                self._premises.popitem(last=False)
        return premise

    def _epoch_path(self, episode: str, epoch: int) -> Path:
        return self._folder / "episodes" / episode / f"{epoch}.db"

    def _newest_epoch(self, episode: str) -> int:
        found = (self._folder / "episodes" / episode).glob("*.db")
        return max((int(path.stem) for path in found if path.stem.isdecimal()), default=0)

    def _close_least_used(self) -> None:
        for episode in list(self._open):
            if len(self._open) <= self._max_open:
                return
            if not self._open[episode].lock.locked():
                self._open.pop(episode).close()

    def _evict_templates(self, keep: str) -> None:
        found = [(path.stat(), path) for path in self.source_path(keep).parent.glob("*.db")]
        taken = sum(stat.st_size for stat, _ in found)
        for stat, path in sorted(found, key=lambda item: item[0].st_mtime_ns):
            if taken <= self._max_template_bytes:
                return
            if path.stem != keep:
                remove_database(path)
                taken -= stat.st_size
