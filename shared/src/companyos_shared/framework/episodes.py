"""Episodes of a service: one database file per epoch, opened lazily, with an LRU cache of connections.

The context of a call names (episode, epoch, source). A new epoch is copied from its source. Calls with an epoch older
than the newest, or with a generation older than the last one that wrote, are rejected. Live files never change: writes
go to the log beside them, so that damage to either is detected.
"""

from __future__ import annotations

import shutil
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from companyos_shared.framework.database import (
    Database,
    checksum,
    checksum_in_name,
    epoch_files,
    epoch_path,
    remove_database,
    remove_temporary_files,
)
from companyos_shared.framework.episode_constants import EpisodeConstants
from companyos_shared.framework.errors import (
    CorruptEpisodeError,
    EpisodeDroppedError,
    StaleEpochError,
    UnknownSourceError,
)
from companyos_shared.framework.lease import Lease
from companyos_shared.framework.quarantine import Quarantine
from companyos_shared.framework.service import Service
from companyos_shared.framework.sessions import Session
from companyos_shared.framework.sources import Sources
from companyos_shared.framework.storage import DATABASE_ERRORS, Storage, begin, is_corruption, rollback
from companyos_shared.wire.context import CallContext
from companyos_shared.wire.control import (
    InventoryReply,
    QuarantineEntry,
    QuarantineRequest,
    StoredEpisode,
)

_MAX_DROPPED = 65_536
_MAX_VERIFIED = 65_536


class Episodes:
    """All episodes of one service process. Deletes temporary files of ended processes at start."""

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
        self.lease = Lease(folder, self._newest_generation)
        self.quarantine = Quarantine(folder / "quarantine", episodes=self._folder, snapshots=self.sources.snapshots)
        self._max_open = max_open
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._dropped: OrderedDict[str, None] = OrderedDict()
        self._verified: OrderedDict[Path, None] = OrderedDict()
        """Epoch files that this process has created or verified."""
        remove_temporary_files(folder)

    def session(self, context: CallContext) -> Session:
        """Return the open epoch of a call; raises the errors of `locked_session`."""
        session = self._open.get(context.episode)
        if session is not None and session.epoch == context.epoch:
            self._open.move_to_end(context.episode)
            return session
        if context.episode in self._dropped:
            raise EpisodeDroppedError
        known = epoch_files(self._folder / context.episode)
        newest = max([*known, session.epoch if session is not None else 0], default=0)
        if context.epoch < newest:
            raise StaleEpochError(f"epoch must be at least {newest}, the newest epoch; got {context.epoch}")
        opened = self._open_epoch(context, known)
        if session is not None:
            self._close_session(session)
        for epoch, path in known.items():
            if epoch < context.epoch:
                remove_database(path)
                self._verified.pop(path, None)
        self._open[context.episode] = opened
        self._open.move_to_end(context.episode)
        self._evict_idle()
        return opened

    def begin(self, session: Session, context: CallContext) -> None:
        """Begin a write transaction under a call's generation; the first write of an epoch creates its file.

        The cached state of the session is reloaded, because another process may have written. Raises
        StaleGenerationError (409) and the errors of `locked_session`.
        """
        if session.reader is not None:
            self._copy_on_write(session)
        begin(session.db)
        try:
            self.lease.check(context.generation)
            session.fence(context.generation)
            session.check_written(context)
        except BaseException:
            rollback(session.db)
            raise

    @asynccontextmanager
    async def locked_session(self, context: CallContext) -> AsyncIterator[Session]:
        """Hold exclusive access to the epoch of a call.

        Raises StaleEpochError (409), EpisodeDroppedError, OutdatedEpisodeError or CorruptEpisodeError (410),
        StorageFullError (507), and the errors of the source: UnknownSourceError (404), CorruptSourceError or
        OutdatedSourceError (410).
        """
        while True:
            session = self.session(context)
            async with session.lock:
                if self._open.get(context.episode) is session:
                    session.check_written(context)
                    yield session
                    return

    def drop(self, episode: str) -> None:
        """Delete an episode's connection and files. Late calls do not recreate it; repeating is not an error."""
        self._dropped[episode] = None
        if len(self._dropped) > _MAX_DROPPED:
            self._dropped.popitem(last=False)
        self._close_episode(episode)
        shutil.rmtree(self._folder / episode, ignore_errors=True)

    def inventory(self) -> InventoryReply:
        """Return all episodes and snapshots that have files."""
        folders = sorted(path for path in self._folder.glob("*") if path.is_dir())
        episodes = [StoredEpisode(id=path.name, epochs=sorted(epoch_files(path))) for path in folders]
        return InventoryReply(episodes=episodes, sources=self.sources.list_snapshots())

    def move_to_quarantine(self, request: QuarantineRequest) -> list[QuarantineEntry]:
        """Move episodes and snapshots to quarantine, and return the new entries."""
        for episode in request.episodes:
            self._close_episode(episode)
        entries = [self.quarantine.add_episode(episode, request.reason) for episode in request.episodes]
        entries += [self.quarantine.add_source(source, request.reason) for source in request.sources]
        return [entry for entry in entries if entry is not None]

    def restore_from_quarantine(self, entry: str) -> QuarantineEntry:
        """Restore a quarantine entry; raises UnknownEntryError (404) or QuarantineConflictError (409)."""
        restored = self.quarantine.restore(entry)
        if restored.episode is not None:
            self._dropped.pop(restored.episode, None)
            self._close_episode(restored.episode)
        return restored

    def _newest_generation(self) -> int:
        """Return the newest generation that has written to any epoch; unreadable files are ignored."""
        return max(map(self.database.read_generation, self._folder.glob("*/*-*.db")), default=0)

    def _close_episode(self, episode: str) -> None:
        """Close an episode whose files are deleted, moved or replaced."""
        for path in epoch_files(self._folder / episode).values():
            self._verified.pop(path, None)
        session = self._open.pop(episode, None)
        if session is not None:
            self._close_session(session)

    def snapshot(self, session: Session) -> str:
        """Store the current state of the epoch as a source and return its id; raises StorageFullError (507)."""
        return self.sources.take_snapshot(session.db, session.episode, session.epoch)

    def export(self, session: Session) -> bytes:
        """Return the current state of the epoch as one SQLite file; raises StorageFullError (507)."""
        self.sources.ensure_headroom()
        return self.database.export(session.db, self.storage.folder / f"{session.episode}.{session.epoch}")

    def close(self) -> None:
        """Close all connections."""
        for session in self._open.values():
            self._close_session(session)
        self._open.clear()
        self.sources.template_pool.close()

    @property
    def open_count(self) -> int:
        """The number of open epochs."""
        return len(self._open)

    def _open_epoch(self, context: CallContext, known: dict[int, Path]) -> Session:
        if context.epoch in known:
            return self._connect(context, known[context.epoch])
        reader = None if known else self.sources.acquire(context.source)
        if reader is None:
            return self._open_copy(context)
        session = self._new_session(context, None, reader.db, reader.constants)
        session.reader, session.next_due_at = reader, reader.next_due_at
        return session

    def _open_copy(self, context: CallContext) -> Session:
        path = self._copy_source(context.episode, context.epoch, context.source)
        try:
            return self._connect(context, path)
        except CorruptEpisodeError:
            remove_database(path)
            self.sources.discard_template(context.source)
            raise UnknownSourceError from None

    def _connect(self, context: CallContext, path: Path) -> Session:
        self._verify(path)
        try:
            db = self.database.connect(path)
            try:
                session = self._new_session(context, path, db, self.sources.constants.read(db))
                session.refresh()
            except BaseException:
                self.database.close(db, path)
                raise
        except (*DATABASE_ERRORS, LookupError) as error:
            if is_corruption(error):
                raise CorruptEpisodeError from error
            raise
        return session

    def _verify(self, path: Path) -> None:
        """Raise CorruptEpisodeError (410) if the file's checksum does not match its name; writes go only to the log."""
        if path not in self._verified:
            if checksum(path) != checksum_in_name(path):
                raise CorruptEpisodeError("Epoch file checksum mismatch.")
            self._mark_verified(path)

    def _mark_verified(self, path: Path) -> None:
        self._verified[path] = None
        if len(self._verified) > _MAX_VERIFIED:
            self._verified.popitem(last=False)

    def _copy_on_write(self, session: Session) -> None:
        """Create the file of an epoch that has used a shared reader until now."""
        path = self._copy_source(session.episode, session.epoch, session.source)
        self._verify(path)
        reader, shared = session.reader, session.db
        try:
            session.db = self.database.connect(path)
            session.refresh()
        except DATABASE_ERRORS as error:
            if session.db is not shared:
                session.db.close()
                session.db = shared
            remove_database(path)
            if not is_corruption(error):
                raise
            self.sources.discard_template(session.source)
            raise UnknownSourceError from error
        session.reader, session.path = None, path
        if reader is not None:
            self.sources.template_pool.release(reader)

    def _copy_source(self, episode: str, epoch: int, source: str) -> Path:
        """Create an epoch's file and return its path; a file that another process has created meanwhile is used."""
        folder = self._folder / episode
        self.sources.ensure_headroom()
        original = self.sources.verified_path(source)
        path = epoch_path(folder, epoch, checksum_in_name(original))
        try:
            self.database.copy(original, path)
        except FileExistsError:
            return path
        self._mark_verified(path)
        return path

    def _new_session(
        self, context: CallContext, path: Path | None, db: Connection, constants: EpisodeConstants
    ) -> Session:
        return Session(context.episode, context.epoch, context.source, path, db, self.database.schema, constants)

    def _close_session(self, session: Session) -> None:
        if session.reader is not None:
            self.sources.template_pool.release(session.reader)
        elif session.path is not None:
            self.database.close(session.db, session.path)

    def _evict_idle(self) -> None:
        *others, _newest = self._open
        for episode in others:
            if len(self._open) <= self._max_open:
                return
            if not self._open[episode].lock.locked():
                self._close_session(self._open.pop(episode))
