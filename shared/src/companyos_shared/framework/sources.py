"""Sources of epochs. Templates are built from documents and may be evicted; snapshots exist until they are deleted.

The file name of a source ends with the sha256 of its bytes, so that damage is detected before use.
"""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError, StatementError

from companyos_shared.framework import scheduled_events
from companyos_shared.framework.call import Call
from companyos_shared.framework.change_capture import read_rows_json
from companyos_shared.framework.columns import format_time
from companyos_shared.framework.database import (
    Database,
    checksum,
    checksum_in_name,
    read_meta,
    remove_database,
    write_meta,
)
from companyos_shared.framework.episode_constants import EpisodeConstantsCache
from companyos_shared.framework.errors import (
    CorruptSourceError,
    InvalidSeedError,
    OutdatedSourceError,
    SourceMismatchError,
    UnknownBaseError,
    UnknownSourceError,
)
from companyos_shared.framework.schemas import SeedDocument
from companyos_shared.framework.service import Service
from companyos_shared.framework.storage import DATABASE_ERRORS, Storage, is_corruption
from companyos_shared.framework.template_pool import TemplatePool, TemplateReader
from companyos_shared.wire.context import SOURCE_PATTERN
from companyos_shared.wire.control import StoredSnapshot

_EPISODE, _EPOCH = "taken_of_episode", "taken_of_epoch"
_SOURCE = re.compile(SOURCE_PATTERN)
_FileState = tuple[int, int, int]
"""Inode, size and modification time: a verified file is verified again only after one of them changes."""


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
        self._template_files = self._find_template_files()
        """Path and size in bytes of each template, oldest first."""

        self._template_bytes = sum(size for _, size in self._template_files.values())
        self._base_lock = asyncio.Lock()
        self._bases: set[str] = set()
        """Bases in use, which are never evicted: they are few, and each takes seconds to build."""

        self.constants = EpisodeConstantsCache()
        self.template_pool = TemplatePool(database, self.constants)

    def load(self, source: str, content: bytes) -> bytes:
        """Build the source from the body of a load request if it is missing or damaged, and return a LoadReply as JSON.

        Raises UnknownBaseError (404), CorruptSourceError or OutdatedSourceError (410), SourceMismatchError or
        InvalidSeedError (422), or StorageFullError (507).
        """
        with suppress(UnknownSourceError):
            return self._load_reply(source)
        self.ensure_headroom()
        template, reply = self._build(source, content)
        self._add_template(source, template)
        self.template_pool.open(source, template)
        return reply

    async def load_base(self, source: str, content: bytes) -> bytes:
        """Build a missing base in a thread, because it takes seconds; returns and raises like `load`."""
        async with self._base_lock:
            with suppress(UnknownSourceError):
                return self._load_reply(source)
            self.ensure_headroom()
            self._bases.add(source)
            template, reply = await asyncio.to_thread(self._build, source, content)
            self._add_template(source, template)
            return reply

    def verified_path(self, source: str) -> Path:
        """Return the verified file of a source.

        Raises UnknownSourceError (404), CorruptSourceError or OutdatedSourceError (410). A damaged template is
        deleted, because it can be built again.
        """
        path = self._snapshot(source)
        try:
            state = _state(path.stat())
        except FileNotFoundError:
            template = self.template(source)
            if template is None:
                raise UnknownSourceError from None
            path = template
            state = _state(path.stat())
        if self._verified.get(source) != state:
            self._verify(source, path)
            self._verified[source] = state
        return path

    def template(self, source: str) -> Path | None:
        """Return the template of a source, or None."""
        path, _ = self._template_files.get(source, (None, 0))
        return path if path is not None and path.exists() else None

    def _find_template_files(self) -> dict[str, tuple[Path, int]]:
        found = ((path, path.stat()) for path in self._templates.glob("*.db"))
        by_age = sorted(found, key=lambda item: item[1].st_mtime_ns)
        return {path.stem.partition("-")[0]: (path, stat.st_size) for path, stat in by_age}

    def take_snapshot(self, db: Connection, episode: str, epoch: int) -> str:
        """Create a snapshot of an epoch and return its id; raises StorageFullError (507)."""
        self.ensure_headroom()
        source = self._database.take_snapshot(db, self.snapshots, {_EPISODE: episode, _EPOCH: str(epoch)})
        self._verified[source] = _state(self._snapshot(source).stat())
        return source

    def forget(self, source: str) -> None:
        """Delete a snapshot, if it exists."""
        self._verified.pop(source, None)
        remove_database(self._snapshot(source))

    def list_snapshots(self) -> list[StoredSnapshot]:
        """Return all snapshots with episode and epoch, which are None for unreadable files."""
        return [
            self._describe_snapshot(path)
            for path in sorted(self.snapshots.glob("*.db"))
            if _SOURCE.fullmatch(path.stem)
        ]

    def _describe_snapshot(self, path: Path) -> StoredSnapshot:
        try:
            with self._database.connect_read_only(path) as db:
                episode, epoch = read_meta(db, _EPISODE), read_meta(db, _EPOCH)
        except DATABASE_ERRORS:
            episode = epoch = None
        return StoredSnapshot(source=path.stem, episode=episode, epoch=int(epoch) if epoch else None)

    def discard_template(self, source: str) -> None:
        """Delete a damaged template; it can be built again from its document."""
        self.template_pool.forget(source)
        self._verified.pop(source, None)
        if (file := self._template_files.pop(source, None)) is not None:
            self._template_bytes -= file[1]
            remove_database(file[0])

    def acquire(self, source: str) -> TemplateReader | None:
        """Return the reader of a template, or None for a snapshot. The caller must release the reader.

        Raises the errors of `verified_path`.
        """
        path = self.verified_path(source)
        if path.parent != self._templates:
            return None
        try:
            return self.template_pool.acquire(source, path)
        except (*DATABASE_ERRORS, LookupError) as error:
            if not is_corruption(error):
                raise
            self.discard_template(source)
            raise UnknownSourceError from error

    def ensure_headroom(self) -> None:
        """Evict templates until there is space for a new file; raises StorageFullError (507)."""
        if not self._storage.has_headroom():
            self._evict(keep=None)
            self._storage.check_headroom()

    def _load_reply(self, source: str) -> bytes:
        path = self.verified_path(source)
        try:
            with self._database.connect_read_only(path) as db:
                return self._read_reply(db, source)
        except DATABASE_ERRORS as error:
            if not is_corruption(error):
                raise
            self.discard_template(source)
            raise UnknownSourceError from error

    def _read_reply(self, db: Connection, source: str) -> bytes:
        """Return a LoadReply as JSON, with the rows serialized by SQLite."""
        due_at = scheduled_events.next_due_at(db)
        next_due_at = "null" if due_at is None else f'"{format_time(due_at)}"'
        rows = read_rows_json(db, self._service.metadata)
        return f'{{"source":"{source}","next_due_at":{next_due_at},"rows":{rows}}}'.encode()

    def _snapshot(self, source: str) -> Path:
        return self.snapshots / f"{source}.db"

    def _verify(self, source: str, path: Path) -> None:
        is_whole = checksum(path) == checksum_in_name(path)
        if path.parent == self._templates:
            if not is_whole:
                self.discard_template(source)
                raise UnknownSourceError("Template checksum mismatch.")
        elif is_whole:
            self._check_schema(path)
        else:
            raise CorruptSourceError

    def _check_schema(self, snapshot: Path) -> None:
        try:
            with self._database.connect_read_only(snapshot) as db:
                schema = read_meta(db, "schema")
        except DATABASE_ERRORS as error:
            if is_corruption(error):
                raise CorruptSourceError("The file is not a database of this service.") from error
            raise
        if schema != self._database.schema:
            raise OutdatedSourceError

    def _add_template(self, source: str, template: Path) -> None:
        stat = template.stat()
        _, replaced_bytes = self._template_files.pop(source, (template, 0))
        self._template_files[source], self._verified[source] = (template, stat.st_size), _state(stat)
        self._template_bytes += stat.st_size - replaced_bytes
        self._evict(keep=source)

    def _build(self, source: str, content: bytes) -> tuple[Path, bytes]:
        """Validate the document of a load request, build its template and return its path and the reply."""
        if self._service.source_of(content) != source:
            raise SourceMismatchError
        try:
            return self._build_template(source, _parse_document(content))
        except (OverflowError, StatementError) as error:
            cause = error.orig if isinstance(error, StatementError) else error
            if not isinstance(cause, OverflowError):
                raise
            raise InvalidSeedError(f"document has a time or number that is out of range: {cause}") from error

    def _build_template(self, source: str, document: dict[str, Any]) -> tuple[Path, bytes]:
        try:
            seed = self._service.seed.model_validate(document)
        except ValidationError as error:
            places = ((".".join(map(str, item["loc"])) or "document", item) for item in error.errors())
            raise InvalidSeedError.of_places(places) from error
        base = self._find_base(seed.base)
        try:
            return self._database.build(
                self._templates,
                source,
                lambda db: self._load_seed(db, source, seed),
                lambda db: self._read_reply(db, source),
                base=base,
                is_base=seed.is_base,
            )
        except (IntegrityError, sqlite3.IntegrityError) as error:
            raise InvalidSeedError("document has an id that the base has as well") from error

    def _find_base(self, source: str | None) -> Path | None:
        """Return the file of a base, and exempt the base from eviction; raises UnknownBaseError (404)."""
        if source is None:
            return None
        try:
            path = self.verified_path(source)
        except UnknownSourceError as error:
            raise UnknownBaseError from error
        self._bases.add(source)
        return path

    def _load_seed(self, db: Connection, source: str, seed: SeedDocument) -> None:
        if seed.is_base:
            write_meta(db, {"base": source, "base_company": seed.company.model_dump_json()})
        write_meta(
            db,
            {
                "schema": self._database.schema,
                "source": source,
                "company": seed.company.model_dump_json(),
                "draw_seed": seed.draw_seed,
                "started_at": format_time(seed.started_at),
            },
        )
        call = Call(
            db=db, now=seed.started_at, company=seed.company, service=self._service.name, draw_seed=seed.draw_seed
        )
        self._service.load_seed(call, seed)

    def _evict(self, *, keep: str | None) -> None:
        """Delete the oldest templates, except bases, until the size limit and the reserve for live episodes are met."""
        for source in list(self._template_files):
            if self._template_bytes <= self._max_template_bytes and self._storage.has_headroom():
                return
            if source != keep and source not in self._bases:
                self.discard_template(source)


def _parse_document(content: bytes) -> dict[str, Any]:
    """Return the document in the body of a load request; raises InvalidSeedError (422) if it is not a JSON object."""
    try:
        document = from_json(content, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidSeedError(f"document must be valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise InvalidSeedError("document must be a JSON object")
    return document


def _state(stat: os.stat_result) -> _FileState:
    return (stat.st_ino, stat.st_size, stat.st_mtime_ns)
