"""Sources: what an epoch starts from. Templates are made from documents and may vanish; snapshots stay until forgotten.

The name of a source's file ends with the sha256 of its bytes, so that damage shows before anything starts from it.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
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
    checksum,
    named_checksum,
    read_meta,
    remove_database,
    write_meta,
)
from companyos_shared.chassis.errors import InvalidSeed, SourceCorrupt, SourceMismatch, SourceOutdated, UnknownSource
from companyos_shared.chassis.premises import Premises
from companyos_shared.chassis.readers import Reader, Readers
from companyos_shared.chassis.schemas import SeedDocument
from companyos_shared.chassis.service import Service
from companyos_shared.chassis.storage import DATABASE_ERRORS, Storage, is_damage
from companyos_shared.wire.context import SOURCE_PATTERN
from companyos_shared.wire.control import HeldSource, LoadReply

_EPISODE, _EPOCH = "taken_of_episode", "taken_of_epoch"
_SOURCE = re.compile(SOURCE_PATTERN)
_FileState = tuple[int, int, int]
"""inode, size and time of the last write: a file that was verified is not read again while these stand."""


class Sources:
    """All sources of one service process."""

    def __init__(self, service: Service[Any], database: Database, storage: Storage, *, max_template_bytes: int) -> None:
        self._service = service
        self._database = database
        self._storage = storage
        self._max_template_bytes = max_template_bytes
        self._templates = storage.folder / "templates" / database.schema[:16]
        self.snapshots = storage.folder / "snapshots"
        self._verified: dict[str, _FileState] = {}
        self._known: dict[str, Path] = {}
        self.premises = Premises()
        self.readers = Readers(database, self.premises)

    def load(self, source: str, document: dict[str, Any] | None) -> LoadReply:
        """Make the source if it is not there or is damaged, and return its rows at rest.

        Raises as `ready` does, or InvalidSeed.
        """
        try:
            return self._at_rest(source)
        except UnknownSource:
            if document is None:
                raise
        self._build(source, document)
        return self._at_rest(source)

    def ready(self, source: str) -> Path:
        """Return the file of a source, which is what it was when it was made.

        Raises UnknownSource (404), SourceCorrupt or SourceOutdated (410). A damaged template is deleted: it can be made
        again.
        """
        path = self._snapshot(source)
        try:
            found = path.stat()
        except FileNotFoundError:
            path = self._known_template(source)
            found = path.stat()
        state = _state(found)
        if self._verified.get(source) != state:
            self._verify(source, path)
            self._verified[source] = state
        return path

    def template(self, source: str) -> Path | None:
        """Return the template of a source, None where there is none."""
        known = self._known.get(source)
        if known is None or not known.exists():
            known = next(self._templates.glob(f"{source}-*.db"), None)
            if known is None:
                self._known.pop(source, None)
            else:
                self._known[source] = known
        return known

    def _known_template(self, source: str) -> Path:
        template = self.template(source)
        if template is None:
            raise UnknownSource
        return template

    def take(self, db: Connection, episode: str, epoch: int) -> str:
        """Keep an epoch as it is now, and return the id of the snapshot; raises StorageFull (507)."""
        self.make_room()
        source = self._database.take(db, self.snapshots, {_EPISODE: episode, _EPOCH: str(epoch)})
        self._verified[source] = _state(self._snapshot(source).stat())
        return source

    def forget(self, source: str) -> None:
        """Delete a snapshot. Twice is no error."""
        self._verified.pop(source, None)
        remove_database(self._snapshot(source))

    def held(self) -> list[HeldSource]:
        """Return every snapshot with the epoch that it was taken of; one that cannot be read has neither."""
        return [self._held(path) for path in sorted(self.snapshots.glob("*.db")) if _SOURCE.fullmatch(path.stem)]

    def _held(self, path: Path) -> HeldSource:
        try:
            with self._database.connect_at_rest(path) as db:
                episode, epoch = read_meta(db, _EPISODE), read_meta(db, _EPOCH)
        except DATABASE_ERRORS:
            episode = epoch = None
        return HeldSource(source=path.stem, episode=episode, epoch=int(epoch) if epoch else None)

    def discard_template(self, source: str) -> None:
        """Delete a template that cannot be read: it is made again from its document."""
        self.readers.forget(source)
        self._verified.pop(source, None)
        for path in self._templates.glob(f"{source}-*.db"):
            remove_database(path)

    def borrow(self, source: str) -> Reader | None:
        """Return the reader of a template, to be given back; None for a snapshot. Raises what `ready` raises."""
        path = self.ready(source)
        if path.parent != self._templates:
            return None
        try:
            return self.readers.borrow(source, path)
        except (*DATABASE_ERRORS, LookupError) as error:
            if not is_damage(error):
                raise
            self.discard_template(source)
            raise UnknownSource from error

    def make_room(self) -> None:
        """See that a new file leaves live episodes their room, at the price of templates; raises StorageFull (507)."""
        if not self._storage.has_headroom():
            self._evict(keep=None)
            self._storage.check_headroom()

    def _at_rest(self, source: str) -> LoadReply:
        path = self.ready(source)
        try:
            with self._database.connect_at_rest(path) as db:
                rows = read_rows(db, self._service.metadata)
                return LoadReply(source=source, rows=rows, next_due_at=due.next_due_at(db))
        except DATABASE_ERRORS as error:
            if not is_damage(error):
                raise
            self.discard_template(source)
            raise UnknownSource from error

    def _snapshot(self, source: str) -> Path:
        return self.snapshots / f"{source}.db"

    def _verify(self, source: str, path: Path) -> None:
        is_whole = checksum(path) == named_checksum(path)
        if path.parent == self._templates:
            if not is_whole:
                self.discard_template(source)
                raise UnknownSource("The template was damaged.")
        elif is_whole:
            self._check_schema(path)
        else:
            raise SourceCorrupt

    def _check_schema(self, snapshot: Path) -> None:
        try:
            with self._database.connect_at_rest(snapshot) as db:
                schema = read_meta(db, "schema")
        except DATABASE_ERRORS as error:
            if is_damage(error):
                raise SourceCorrupt("The file is no database of a service.") from error
            raise
        if schema != self._database.schema:
            raise SourceOutdated

    def _build(self, source: str, document: dict[str, Any]) -> None:
        if self._service.source_of(document) != source:
            raise SourceMismatch
        try:
            seed = self._service.seed.model_validate(document)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise InvalidSeed(f"{place or 'document'}: {first['msg']}") from error
        self.make_room()
        made = self._database.build(self._templates, source, lambda db: self._plant(db, source, seed))
        self._known[source], self._verified[source] = made, _state(made.stat())
        self._evict(keep=source)

    def _plant(self, db: Connection, source: str, seed: SeedDocument) -> None:
        write_meta(
            db,
            {
                "schema": self._database.schema,
                "source": source,
                "company": seed.company.model_dump_json(),
                "draw_seed": seed.draw_seed,
                "started_at": time_text(seed.started_at),
            },
        )
        call = Call(
            db=db, now=seed.started_at, company=seed.company, service=self._service.name, draw_seed=seed.draw_seed
        )
        self._service.plant(call, seed)

    def _evict(self, *, keep: str | None) -> None:
        """Delete the oldest templates: those over the limit, and those that take the room of live episodes."""
        found = []
        for path in self._templates.glob("*.db"):
            with suppress(FileNotFoundError):
                found.append((path.stat(), path))
        taken = sum(stat.st_size for stat, _ in found)
        for stat, path in sorted(found, key=lambda item: item[0].st_mtime_ns):
            if taken <= self._max_template_bytes and self._storage.has_headroom():
                return
            source = path.stem.partition("-")[0]
            if source != keep:
                self.discard_template(source)
                taken -= stat.st_size


def _state(found: os.stat_result) -> _FileState:
    return (found.st_ino, found.st_size, found.st_mtime_ns)
