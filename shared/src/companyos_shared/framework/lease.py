"""Lease of a service: the one gateway that it accepts calls from. Each grant has a higher generation than the last.

The lease is one file. It is read again after each replacement, so that a process that was paused notices grants by
another process. Its expiry uses this process's monotonic clock and only decides whether another owner needs
`take_over`; it never stops the current owner. An unreadable file is renamed to `lease.json.damaged` and counts as lost.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from companyos_shared.failpoints import failpoint
from companyos_shared.framework.durable_files import write_durably
from companyos_shared.framework.errors import CallReplayedError, LeaseHeldError, StaleGenerationError
from companyos_shared.streams import digest
from companyos_shared.wire.context import CONTROL_LIFETIME_S, CallContext
from companyos_shared.wire.control import OWNER_PATTERN, LeaseReply

FORMAT = 1
LIFETIME_S = 15.0
"""Time since the current owner's last call after which another owner may take the lease."""

GENERATION_GAP = 1_000_000
"""Number of generations to skip after the file was lost; exceeds the grants since the last write to a database."""

MAX_REMEMBERED_GRANTS = 64
"""Number of nonces stored in the file, so that a request is granted once despite restarts and clock changes."""

_FILE = "lease.json"
_FileState = tuple[int, int, int]
_log = logging.getLogger(__name__)


class LeaseRecord(BaseModel):
    """Content of the lease file. The owner is null after a release.

    `signed_until` is the expiry of the last granted request, in Unix seconds; `nonces` belong to the granted requests,
    oldest first.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = FORMAT
    generation: Annotated[int, Field(ge=0)] = 0
    owner: Annotated[str, Field(pattern=OWNER_PATTERN)] | None = None
    signed_until: float = 0.0
    nonces: tuple[str, ...] = ()
    checksum: str = ""

    def with_checksum(self) -> LeaseRecord:
        """Return the record with its checksum."""
        return self.model_copy(update={"checksum": digest(self.model_dump(exclude={"checksum"}))})


class Lease:
    """The lease of one service folder.

    If the file is lost, generations continue far beyond `newest_written`, the newest generation that has written to a
    database, or 0.
    """

    def __init__(self, folder: Path, newest_written: Callable[[], int] = lambda: 0) -> None:
        self._path = folder / _FILE
        self._newest_written = newest_written
        self._state: _FileState | None = None
        self._record = LeaseRecord()
        self._renewed_at = time.monotonic()

    @property
    def generation(self) -> int:
        """The last granted generation, or 0."""
        return self._read().generation

    def check(self, generation: int) -> None:
        """Renew the lease; raises StaleGenerationError (409) for a call of an older generation."""
        current = self._read().generation
        if generation < current:
            raise StaleGenerationError(
                f"generation must be at least {current}, taken by another gateway; got {generation}"
            )
        self._renewed_at = time.monotonic()

    def grant(self, owner: str, *, take_over: bool, request: CallContext | None = None) -> LeaseReply:
        """Grant the lease to an owner as the next generation.

        Raises LeaseHeldError (409), CallReplayedError (401), or StaleGenerationError (409) for a request that does not
        expire after the last granted one, such as a late request of a gateway process that has ended.
        """
        current = self._read()
        nonce, signed_until = (request.nonce, request.expires_at) if request else (None, None)
        if nonce in current.nonces:
            raise CallReplayedError
        if signed_until and current.signed_until - CONTROL_LIFETIME_S < signed_until <= current.signed_until:
            raise StaleGenerationError("A later lease request was granted.")
        generation = 1 + (
            current.generation if self._path.exists() else max(current.generation, self._first_generation_gap())
        )
        idle_s = time.monotonic() - self._renewed_at
        if current.owner not in (None, owner) and idle_s < LIFETIME_S and not take_over:
            raise LeaseHeldError(
                f"Gateway {current.owner} holds the lease (generation {current.generation}, "
                f"last call {idle_s:.1f} s ago). "
                f"It can be taken over explicitly, or {LIFETIME_S:g} s after the holder's last call."
            )
        nonces = (*current.nonces, nonce)[-MAX_REMEMBERED_GRANTS:] if nonce else current.nonces
        self._write(generation=generation, owner=owner, signed_until=signed_until or 0.0, nonces=nonces)
        return LeaseReply(generation=generation, lifetime_s=LIFETIME_S)

    def renew(self, owner: str, generation: int) -> LeaseReply:
        """Renew a lease; rewrite the file if it was lost."""
        if generation > self._read().generation:
            self._write(generation=generation, owner=owner)
        return LeaseReply(generation=generation, lifetime_s=LIFETIME_S)

    def release(self, owner: str) -> None:
        """Release the lease, so that any owner may take it."""
        if self._read().owner == owner:
            self._write(owner=None)

    def _read(self) -> LeaseRecord:
        try:
            stat = self._path.stat()
        except FileNotFoundError:
            return self._record
        state = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        if state != self._state:
            record = _parse_record(self._path.read_bytes())
            if record is None:
                damaged = self._path.with_name(f"{_FILE}.damaged")
                self._path.replace(damaged)
                _log.error("unreadable lease file renamed to %s; the lease counts as lost", damaged)
                return self._record
            self._record, self._state = record, state
        return self._record

    def _first_generation_gap(self) -> int:
        written = self._newest_written()
        return written + GENERATION_GAP if written else 0

    def _write(self, **changes: object) -> None:
        content = self._record.model_copy(update=changes).with_checksum().model_dump_json().encode()
        failpoint("service.lease.before")
        write_durably(self._path, content)
        failpoint("service.lease.after")
        self._read()
        self._renewed_at = time.monotonic()


def _parse_record(content: bytes) -> LeaseRecord | None:
    """Return the record of a lease file, or None if it is damaged or has another format."""
    try:
        record = LeaseRecord.model_validate_json(content)
    except ValidationError:
        return None
    return record if record.format == FORMAT and record == record.with_checksum() else None
