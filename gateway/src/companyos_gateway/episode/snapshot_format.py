"""The format of a snapshot: a header, then the payloads of its episode's journal, a line each.

The header names the databases that the services keep. The id of a snapshot is the digest of its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from companyos.contract import SnapshotInfo
from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.errors import Reason, UnusableError
from companyos_gateway.episode.manifest import Manifest
from companyos_gateway.episode.snapshot_files import snapshot_id_of

FORMAT = 2


class SnapshotHeader(BaseModel):
    """The first line of a snapshot."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = FORMAT
    snapshot: SnapshotInfo
    manifest: Manifest

    def info(self, snapshot_id: str) -> SnapshotInfo:
        """Return what the snapshot is of, with its id."""
        return self.snapshot.model_copy(update={"id": snapshot_id})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot that was read."""

    header: SnapshotHeader
    payloads: list[bytes]


def header_of(episode: Episode, sources: dict[str, str]) -> SnapshotHeader:
    """Return the header of a snapshot of an episode as it stands, whose databases are these sources."""
    key, progress = episode.task.key, episode.progress
    info = SnapshotInfo(
        id="0" * 32,
        episode_id=episode.id,
        scenario=key.scenario,
        seed=key.seed,
        chaos=key.chaos,
        step=progress.step,
        now=progress.now,
        return_=progress.ledger.return_,
        done=episode.done,
    )
    return SnapshotHeader(snapshot=info, manifest=episode.manifest.model_copy(update={"sources": sources}))


def encode(header: SnapshotHeader, payloads: Iterable[bytes]) -> bytes:
    """Return the bytes of a snapshot."""
    first = header.model_dump_json(exclude={"manifest": {"options": {"resume", "injected_state"}}}).encode()
    return b"".join(line + b"\n" for line in (first, *payloads))


def decode(snapshot_id: str, content: bytes) -> Snapshot:
    """Return the snapshot of that id; raises UnusableError."""
    if snapshot_id_of(content) != snapshot_id:
        raise UnusableError(Reason.DAMAGED, f"The bytes of {snapshot_id} are not those that were written.")
    first, *payloads = content.splitlines()
    try:
        header = SnapshotHeader.model_validate_json(first)
        if header.format != FORMAT:
            raise UnusableError(Reason.FORMAT, f"{snapshot_id} has format {header.format}, this version reads {FORMAT}")
    except ValidationError as error:
        raise UnusableError(Reason.FORMAT, f"{snapshot_id} was written by another version.") from error
    return Snapshot(header, payloads)


def sources_in(content: bytes) -> list[tuple[str, str]]:
    """Return service and source of the databases that a damaged snapshot names, as far as its header can be read."""
    try:
        return SnapshotHeader.model_validate_json(content.partition(b"\n")[0]).manifest.kept_sources()
    except ValidationError:
        return []
