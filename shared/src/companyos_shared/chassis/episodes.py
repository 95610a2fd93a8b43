"""Episodes of a service: one file per epoch opened lazily, connections in an LRU.

The context of a call names (episode, epoch, source). An epoch not seen yet is copied from its source; an epoch older
than the newest is refused, so late writers are fenced off. Live files are never overwritten.
"""

from __future__ import annotations

import shutil
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from companyos_shared.chassis.database import Database, remove_database, remove_strays
from companyos_shared.chassis.driver import begin
from companyos_shared.chassis.errors import EpisodeCorrupt, EpisodeDropped, StaleEpoch, UnknownSource
from companyos_shared.chassis.lease import Lease
from companyos_shared.chassis.premises import Premise
from companyos_shared.chassis.quarantine import Quarantine
from companyos_shared.chassis.service import Service
from companyos_shared.chassis.sessions import Session
from companyos_shared.chassis.sources import Sources
from companyos_shared.chassis.storage import DATABASE_ERRORS, Storage, is_damage
from companyos_shared.wire.context import CallContext
from companyos_shared.wire.control import (
    HeldEpisode,
    InventoryReply,
    QuarantineEntry,
    QuarantineRequest,
    SweepReply,
)

_DROPPED_REMEMBERED = 65_536


class Episodes:
    """All episodes of one service process; what a killed one left half made is deleted."""

    def __init__(
        self,
        service: Service[Any],
        folder: Path,
        *,
        max_open: int,
        max_template_bytes: int,
        min_free_bytes: int = 0,
    ) -> None:
        self.service = service
        self.database = Database(service.metadata)
        self.storage = Storage(folder, min_free_bytes=min_free_bytes)
        self.sources = Sources(service, self.database, self.storage, max_template_bytes=max_template_bytes)
        self._folder = folder / "episodes"
        self.lease = Lease(folder)
        self.quarantine = Quarantine(folder / "quarantine", episodes=self._folder, snapshots=self.sources.snapshots)
        self._max_open = max_open
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._dropped: OrderedDict[str, None] = OrderedDict()
        remove_strays(folder)

    def session(self, context: CallContext) -> Session:
        """Return the open epoch of a call; raises what `turn` raises."""
        session = self._open.get(context.episode)
        if session is not None and session.epoch == context.epoch:
            self._open.move_to_end(context.episode)
            return session
        if context.episode in self._dropped:
            raise EpisodeDropped
        known = self._epochs(context.episode)
        newest = max(known, default=0) if session is None else session.epoch
        if context.epoch < newest:
            raise StaleEpoch(f"The episode is at epoch {newest}.")
        opened = self._open_epoch(context, known)
        if session is not None:
            self._shut(session)
        for epoch in known:
            if epoch != context.epoch:
                remove_database(self._epoch_path(context.episode, epoch))
        self._open[context.episode] = opened
        self._open.move_to_end(context.episode)
        self._close_least_used()
        return opened

    def begin(self, session: Session) -> None:
        """Open a write transaction; an epoch that only read so far gets its file first. Raises what `turn` raises."""
        if session.reader is not None:
            self._own(session)
        begin(session.db)

    @asynccontextmanager
    async def turn(self, context: CallContext) -> AsyncIterator[Session]:
        """Hold the open epoch of a call alone.

        Raises StaleEpoch (409), EpisodeDropped, EpisodeOutdated or EpisodeCorrupt (410), StorageFull (507), and what
        the source raises: UnknownSource (404), SourceCorrupt or SourceOutdated (410).
        """
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
        self._let_go(episode)
        shutil.rmtree(self._folder / episode, ignore_errors=True)

    def sweep(self, episodes: set[str], sources: set[str]) -> SweepReply:
        """Drop every episode and forget every snapshot that is not named, and delete what is half made."""
        known = {path.name for path in self._folder.glob("*")} | self._open.keys()
        unnamed = known - episodes
        for episode in unnamed:
            self.drop(episode)
        remove_strays(self.storage.folder)
        return SweepReply(episodes=len(unnamed), sources=self.sources.forget_all_but(sources))

    def inventory(self) -> InventoryReply:
        """Return every episode and every snapshot that has files here."""
        found = sorted(path for path in self._folder.glob("*") if path.is_dir())
        episodes = [HeldEpisode(id=path.name, epochs=sorted(self._epochs(path.name))) for path in found]
        return InventoryReply(episodes=episodes, sources=self.sources.held())

    def move_to_quarantine(self, asked: QuarantineRequest) -> list[QuarantineEntry]:
        """Move episodes and snapshots into quarantine, and return the entries made."""
        for episode in asked.episodes:
            self._let_go(episode)
        kept = [self.quarantine.keep_episode(episode, asked.reason) for episode in asked.episodes]
        kept += [self.quarantine.keep_source(source, asked.reason) for source in asked.sources]
        return [entry for entry in kept if entry is not None]

    def restore_from_quarantine(self, entry: str) -> QuarantineEntry:
        """Move an entry of the quarantine back; raises UnknownEntryError (404) or QuarantineConflictError (409)."""
        restored = self.quarantine.restore(entry)
        if restored.episode is not None:
            self._dropped.pop(restored.episode, None)
            self._let_go(restored.episode)
        return restored

    def _let_go(self, episode: str) -> None:
        session = self._open.pop(episode, None)
        if session is not None:
            self._shut(session)

    def snapshot(self, session: Session) -> str:
        """Keep the epoch as it is now as a source, and return its id; raises StorageFull (507)."""
        return self.sources.take(session.db, session.episode, session.epoch)

    def export(self, session: Session) -> bytes:
        """Return the epoch as it is now as one SQLite file; raises StorageFull (507)."""
        self.sources.make_room()
        return self.database.export(session.db, self.storage.folder / f"{session.episode}.{session.epoch}")

    def close(self) -> None:
        """Close every connection; files stay."""
        for session in self._open.values():
            self._shut(session)
        self._open.clear()
        self.sources.readers.close()

    @property
    def open_count(self) -> int:
        """How many epochs are open."""
        return len(self._open)

    def _open_epoch(self, context: CallContext, known: list[int]) -> Session:
        path = self._epoch_path(context.episode, context.epoch)
        if context.epoch in known:
            return self._connected(context, path)
        reader = None if known else self.sources.borrow(context.source)
        if reader is None:
            return self._copied(context, path)
        session = self._session(context, path, reader.db, reader.premise)
        session.reader, session.next_due_at = reader, reader.next_due_at
        return session

    def _copied(self, context: CallContext, path: Path) -> Session:
        self._copy_source(context.source, path)
        try:
            return self._connected(context, path)
        except EpisodeCorrupt:
            remove_database(path)
            self.sources.discard_template(context.source)
            raise UnknownSource from None

    def _connected(self, context: CallContext, path: Path) -> Session:
        try:
            db = self.database.connect(path)
            try:
                session = self._session(context, path, db, self.sources.premises.of(db))
                session.recall()
            except BaseException:
                db.close()
                raise
        except (*DATABASE_ERRORS, LookupError) as error:
            if is_damage(error):
                raise EpisodeCorrupt from error
            raise
        return session

    def _own(self, session: Session) -> None:
        """Give an epoch that reads through a reader a file of its own."""
        self._copy_source(session.source, session.path)
        reader, shared = session.reader, session.db
        try:
            session.db = self.database.connect(session.path)
            session.recall()
        except DATABASE_ERRORS as error:
            if session.db is not shared:
                session.db.close()
                session.db = shared
            remove_database(session.path)
            if not is_damage(error):
                raise
            self.sources.discard_template(session.source)
            raise UnknownSource from error
        session.reader = None
        if reader is not None:
            self.sources.readers.give_back(reader)

    def _copy_source(self, source: str, path: Path) -> None:
        self.sources.make_room()
        self.database.copy(self.sources.ready(source), path)

    def _session(self, context: CallContext, path: Path, db: Connection, premise: Premise) -> Session:
        return Session(context.episode, context.epoch, context.source, path, db, self.database.schema, premise)

    def _shut(self, session: Session) -> None:
        if session.reader is None:
            session.db.close()
        else:
            self.sources.readers.give_back(session.reader)

    def _epoch_path(self, episode: str, epoch: int) -> Path:
        return self._folder / episode / f"{epoch}.db"

    def _epochs(self, episode: str) -> list[int]:
        found = (self._folder / episode).glob("*.db")
        return [int(path.stem) for path in found if path.stem.isdecimal()]

    def _close_least_used(self) -> None:
        *others, _newest = self._open
        for episode in others:
            if len(self._open) <= self._max_open:
                return
            if not self._open[episode].lock.locked():
                self._shut(self._open.pop(episode))
