"""Messages of the control API between gateway and services, and the report attached to responses."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from companyos_shared.wire.context import EPISODE_PATTERN, SOURCE_PATTERN, Actor, FaultKind

Row = dict[str, Any]
"""One row: column name to JSON value."""

Rows = dict[str, dict[str, Row]]
"""Rows by table and by primary key (as a string)."""

OWNER_PATTERN = r"^[A-Za-z0-9._-]{8,128}$"

DATABASE_MEDIA_TYPE = "application/vnd.sqlite3"


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Change(_Message):
    """A change of one row: `before` is null for an insert, `after` for a delete.

    `cause` is the op id (`episode:epoch:step`) of the agent's call that wrote the row or scheduled the event that wrote
    it; null if no call caused the change.
    """

    seq: int
    step: int
    at: datetime
    actor: Actor
    cause: str | None
    table: str
    key: str
    before: Row | None
    after: Row | None


class AuditLine(_Message):
    """A call of the agent with its validated arguments."""

    step: int
    at: datetime
    actor: Actor
    operation: str
    arguments: dict[str, Any]
    status: int
    code: str | None = None
    planned: FaultKind | None = None


class Report(_Message):
    """Control data of a response, appended to its body; the REPORT_HEADER contains its length in bytes."""

    changes: list[Change] = Field(default_factory=list)
    audit: AuditLine | None = None
    next_due_at: datetime | None = None
    planned: FaultKind | None = None
    replayed: bool = False
    shown: list[dict[str, Any]] = Field(default_factory=list, description="The objects that a page shows.")


def source_of(service: str, content: bytes) -> str:
    """Return the id of the source that a service creates from a seed document, given as JSON."""
    return hashlib.sha256(b"%s\n%s" % (service.encode(), content)).hexdigest()


class LoadReply(_Message):
    """The source exists. `rows` are its initial rows, `next_due_at` the time of its first scheduled event."""

    source: str
    rows: Rows
    next_due_at: datetime | None


class SettleRequest(_Message):
    """Request to apply events due at the context's `now` and report all changes after `after`."""

    after: int | None = Field(None, ge=0, description="Last known change; absent: report only changes of this request.")


class EvidenceReply(_Message):
    """The evidence of one epoch in one service."""

    initial: Rows
    changes: list[Change]
    audit: list[AuditLine]
    digest: str


class DigestReply(_Message):
    """Digest of all content rows of an epoch."""

    digest: str


class SnapshotReply(_Message):
    """ID of a new snapshot, which can be used as a source."""

    source: str


class CheckRequest(_Message):
    """Request to check that an epoch can start from a source."""

    source: str = Field(pattern=SOURCE_PATTERN)


class CheckReply(_Message):
    """The source exists, is undamaged and matches this version of the service."""

    source: str
    bytes: int = Field(ge=1, description="Size of its file.")


class ForgetRequest(_Message):
    """Request to delete a snapshot, if it exists. Episodes that started from it continue."""

    source: str = Field(pattern=SOURCE_PATTERN)


class DropRequest(_Message):
    """Request to delete ended episodes; missing ones are ignored, and late calls do not create them again."""

    episodes: Sequence[Annotated[str, Field(pattern=EPISODE_PATTERN)]]


class LeaseRequest(_Message):
    """Request to become the gateway whose calls the service accepts."""

    owner: str = Field(pattern=OWNER_PATTERN, description="ID of the gateway, stored with its data.")
    take_over: bool = Field(False, description="Take the lease from another owner before it expires.")


class LeaseReply(_Message):
    """The lease was granted. Calls of older generations are rejected."""

    generation: int = Field(ge=1)
    lifetime_s: float = Field(gt=0, description="Time without calls after which another owner may take the lease.")


class RenewRequest(_Message):
    """Request to renew the lease of the call's generation."""

    owner: str = Field(pattern=OWNER_PATTERN)


class ReleaseRequest(_Message):
    """Request to release the lease, so that any owner may take it."""

    owner: str = Field(pattern=OWNER_PATTERN)


class StoredEpisode(_Message):
    """An episode with files in a service."""

    id: str = Field(description="Internal id.")
    epochs: list[int]


class StoredSnapshot(_Message):
    """A snapshot of a service, with its episode and epoch if readable."""

    source: str
    episode: str | None
    epoch: int | None


class InventoryReply(_Message):
    """All episodes and snapshots of a service, without templates."""

    episodes: list[StoredEpisode]
    sources: list[StoredSnapshot]


class QuarantineRequest(_Message):
    """Request to move episodes and snapshots to quarantine; missing ones are ignored."""

    episodes: list[Annotated[str, Field(pattern=EPISODE_PATTERN)]] = Field(default_factory=list)
    sources: list[Annotated[str, Field(pattern=SOURCE_PATTERN)]] = Field(default_factory=list)
    reason: str = Field(max_length=1000)


class QuarantineEntry(_Message):
    """An episode or snapshot in quarantine."""

    entry: str = Field(description="Name of the episode or snapshot, with a number if needed.")
    episode: str | None = None
    source: str | None = None
    reason: str
    bytes: int = Field(ge=0)


class QuarantineReply(_Message):
    """Quarantine entries: those of a request, or all."""

    entries: list[QuarantineEntry]


class EntriesRequest(_Message):
    """Request to restore or remove quarantine entries by name."""

    entries: list[Annotated[str, Field(pattern=EPISODE_PATTERN)]]
