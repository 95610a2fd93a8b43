"""The control plane: what a service tells the gateway beside the answer, and what the gateway may ask of it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, NewType

from pydantic import BaseModel, ConfigDict, Field

from companyos_shared.wire.context import EPISODE_PATTERN, SOURCE_PATTERN, Actor, FaultKind

Row = dict[str, Any]
"""One row: column name to JSON value."""

Rows = dict[str, dict[str, Row]]
"""Rows by table and by primary key (as a string)."""

SourceId = NewType("SourceId", str)
"""Digest of a document and of the schema that holds it, 64 hexadecimal characters."""

OWNER_PATTERN = r"^[A-Za-z0-9._-]{8,128}$"

DATABASE_MEDIA_TYPE = "application/vnd.sqlite3"


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Change(_Message):
    """One row written: `before` is null for an insert, `after` for a delete.

    `cause` is the op id (`episode:epoch:step`) of the agent's call that wrote the row or scheduled what wrote it;
    null where nobody's call stands behind it.
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
    """One call of the agent as the service understood it. `arguments` are those of the operation, validated."""

    step: int
    at: datetime
    actor: Actor
    operation: str
    arguments: dict[str, Any]
    status: int
    code: str | None = None
    planned: FaultKind | None = None


class Report(_Message):
    """The control side of an answer: appended to the body, its length in bytes in the REPORT_HEADER."""

    changes: list[Change] = Field(default_factory=list)
    audit: AuditLine | None = None
    next_due_at: datetime | None = None
    planned: FaultKind | None = None
    replayed: bool = False


class LoadRequest(_Message):
    """Plant a source: the opaque document that the service validates as its own seed."""

    source: str = Field(pattern=SOURCE_PATTERN)
    document: dict[str, Any] | None = Field(None, description="Absent: only ask whether the source is there.")


class LoadReply(_Message):
    """The source is there. `rows` are its rows at rest, `next_due_at` its first happening."""

    source: str
    rows: Rows
    next_due_at: datetime | None


class SettleRequest(_Message):
    """Apply what is due at the context's `now`, and report every change after `after`, seen or not."""

    after: int | None = Field(None, ge=0, description="The last change known; absent: those of this settle.")


class EvidenceReply(_Message):
    """Everything that one service knows of one epoch."""

    initial: Rows
    changes: list[Change]
    audit: list[AuditLine]
    digest: str


class DigestReply(_Message):
    """The digest over all content rows of an epoch at rest."""

    digest: str
    outcome_digest: str


class SnapshotReply(_Message):
    """A snapshot taken: it is a source from now on."""

    source: str


class CheckRequest(_Message):
    """Ask whether an epoch could start from a source as it lies there."""

    source: str = Field(pattern=SOURCE_PATTERN)


class CheckReply(_Message):
    """The source is there, whole and of this version of the service."""

    source: str
    bytes: int = Field(ge=1, description="The size of its file.")


class ForgetRequest(_Message):
    """Delete a snapshot; one that is not there is no error."""

    source: str = Field(pattern=SOURCE_PATTERN)


class ForgetReply(_Message):
    """The snapshot is not there, or not any more. Episodes that started from it go on."""

    source: str


class LeaseRequest(_Message):
    """Ask to be the one gateway whose calls the service accepts."""

    owner: str = Field(pattern=OWNER_PATTERN, description="The id that the gateway keeps with its data.")
    take_over: bool = Field(False, description="Take the lease from another owner that still holds it.")


class LeaseReply(_Message):
    """The lease was granted. Calls of an older generation are refused from now on."""

    generation: int = Field(ge=1)
    lifetime_s: float = Field(gt=0, description="Without a call for so long, another owner may take the lease.")


class RenewRequest(_Message):
    """Keep the lease of the call's generation."""

    owner: str = Field(pattern=OWNER_PATTERN)


class ReleaseRequest(_Message):
    """Give the lease of the call's generation back: any owner may take it."""

    owner: str = Field(pattern=OWNER_PATTERN)


class HeldEpisode(_Message):
    """An episode of which a service holds files."""

    id: str = Field(description="Internal id.")
    epochs: list[int]


class HeldSource(_Message):
    """A snapshot database that a service holds, and the epoch that it was taken of, as far as that can be read."""

    source: str
    episode: str | None
    epoch: int | None


class InventoryReply(_Message):
    """Everything that a service holds of episodes and snapshots. Templates are not part of it."""

    episodes: list[HeldEpisode]
    sources: list[HeldSource]


class QuarantineRequest(_Message):
    """Move episodes and snapshots into quarantine; what is not there is no error."""

    episodes: list[Annotated[str, Field(pattern=EPISODE_PATTERN)]] = Field(default_factory=list)
    sources: list[Annotated[str, Field(pattern=SOURCE_PATTERN)]] = Field(default_factory=list)
    reason: str = Field(max_length=1000)


class QuarantineEntry(_Message):
    """One episode or snapshot in the quarantine of a service."""

    entry: str = Field(description="The name of the entry: that of the episode or snapshot, numbered if needed.")
    episode: str | None = None
    source: str | None = None
    reason: str
    bytes: int = Field(ge=0)


class QuarantineReply(_Message):
    """Entries of the quarantine: those of one request, or all of them."""

    entries: list[QuarantineEntry]


class EntriesRequest(_Message):
    """Restore or remove entries of the quarantine, by name."""

    entries: list[Annotated[str, Field(pattern=EPISODE_PATTERN)]]
