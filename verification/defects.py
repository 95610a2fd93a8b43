"""Seeded defects: each breaks one guarantee of the product. The suites must find them.

- `make simulate ARGS="--defect NAME"`: the simulation, SIMULATION_DEFECTS
- `make faults ARGS="--prove"` and `--defect NAME`: the fault suite, FAULT_DEFECTS, installed in its processes
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection
from starlette.responses import PlainTextResponse

from companyos.contract import SnapshotInfo
from companyos_gateway.engine import journal
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.episode_removal import control_context
from companyos_gateway.engine.journal import Journal
from companyos_gateway.engine.journal_format import JournalContents, JournalHeader, first_hash
from companyos_gateway.engine.manifest import Manifest
from companyos_gateway.engine.reconciliation import Inventory, Reconciliation
from companyos_gateway.engine.recovery import Recovery
from companyos_gateway.engine.snapshots import Snapshots
from companyos_gateway.engine.store import EpisodeStore
from companyos_gateway.middleware import error_responses
from companyos_shared.framework import lease
from companyos_shared.framework.database import Database
from companyos_shared.framework.episodes import Episodes
from companyos_shared.framework.lease import Lease
from companyos_shared.framework.sessions import Session
from companyos_shared.framework.storage import begin
from companyos_shared.wire.context import CallContext

InstallDefect = Callable[[pytest.MonkeyPatch], None]

_HASH_LENGTH = 32
_LATE_S = 0.2


def _op_ids_are_ignored(patch: pytest.MonkeyPatch) -> None:
    """Forget the last applied step: a repeated call is applied again."""
    begin_call = Episodes.begin

    def begin_without_memory(self: Episodes, session: Session, context: CallContext) -> None:
        begin_call(self, session, context)
        session.applied_step = 0

    patch.setattr(Episodes, "begin", begin_without_memory)


def _old_epochs_are_served(patch: pytest.MonkeyPatch) -> None:
    """Apply calls of an ended epoch to the current one."""
    session = Episodes.session

    def session_of_any_epoch(self: Episodes, context: CallContext) -> Session:
        opened = self._open.get(context.episode)
        if opened is not None and context.epoch < opened.epoch:
            context = context.model_copy(update={"epoch": opened.epoch})
        return session(self, context)

    patch.setattr(Episodes, "session", session_of_any_epoch)


def _a_restore_forgets_one_service(patch: pytest.MonkeyPatch) -> None:
    """Restore one of three services to the start of the task instead of the snapshot."""
    restore = EpisodeStore.restore

    def restore_partially(self: EpisodeStore, episode: Episode, origin: Manifest, *arguments: Any) -> None:
        kept = sorted(name for name, source in origin.sources.items() if source != origin.planned[name])
        forgotten = {name: origin.planned[name] for name in kept[:1]}
        restore(self, episode, origin.model_copy(update={"sources": {**origin.sources, **forgotten}}), *arguments)

    patch.setattr(EpisodeStore, "restore", restore_partially)


def _a_snapshot_does_not_wait_for_its_turn(patch: pytest.MonkeyPatch) -> None:
    """Take snapshots without waiting for the step in progress."""
    take = Snapshots.take

    class EpisodeWithoutTurn:
        def __init__(self, episode: Episode) -> None:
            self._episode = episode

        def __getattr__(self, name: str) -> Any:
            return getattr(self._episode, name)

        @asynccontextmanager
        async def call_lock(self) -> AsyncIterator[None]:
            yield

    async def take_without_turn(self: Snapshots, episode: Episode) -> SnapshotInfo:
        return await take(self, EpisodeWithoutTurn(episode))  # type: ignore[arg-type]

    patch.setattr(Snapshots, "take", take_without_turn)


def _a_live_file_is_copied(patch: pytest.MonkeyPatch) -> None:
    """Copy the database file without its write-ahead log as a snapshot."""

    def copy_live_file(_self: Database, db: Connection, folder: Path, _notes: Mapping[str, str]) -> str:
        live = Path(db.exec_driver_sql("PRAGMA database_list").one()[2]).read_bytes()
        source = sha256(live).hexdigest()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{source}.db").write_bytes(live)
        return source

    patch.setattr(Database, "take_snapshot", copy_live_file)


def _forks_share_an_episode(patch: pytest.MonkeyPatch) -> None:
    """Let all forks of a snapshot share databases."""
    fork = EpisodeStore.fork

    def fork_shared(self: EpisodeStore, origin: Manifest, *arguments: Any, **keywords: Any) -> Episode:
        internal_id = f"n1-{sha256(origin.model_dump_json().encode()).hexdigest()[:24]}"
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(self, "_new_internal_id", lambda: internal_id)
            return fork(self, origin, *arguments, **keywords)

    patch.setattr(EpisodeStore, "fork", fork_shared)


def _outcomes_are_not_journalled(patch: pytest.MonkeyPatch) -> None:
    """Keep outcomes of steps in memory only."""
    patch.setattr(Journal, "record_step", lambda *_arguments: None)


def _fencing_in_memory(patch: pytest.MonkeyPatch) -> None:
    """Check step and generation against process memory, before the transaction begins."""

    def begin_unfenced(self: Episodes, session: Session, context: CallContext) -> None:
        if session.reader is not None:
            self._copy_on_write(session)
        self.lease.check(context.generation)
        begin(session.db)

    patch.setattr(Episodes, "begin", begin_unfenced)


def _generations_are_not_checked(patch: pytest.MonkeyPatch) -> None:
    """Accept calls of every generation."""
    patch.setattr(Lease, "check", lambda *_arguments: None)
    patch.setattr(Session, "fence", lambda self, _generation: self.refresh())


def _a_start_deletes_what_it_cannot_explain(patch: pytest.MonkeyPatch) -> None:
    """Delete databases that no manifest names, instead of moving them to quarantine."""

    async def delete(self: Reconciliation, service: str, _item_id: str, found: Any) -> None:
        for episode in found.episodes:
            await self.engine.service_clients.drop(service, [episode])
        for source in found.sources:
            await self.engine.service_clients.forget(service, control_context("nobody", 1, source))

    patch.setattr(Reconciliation, "_quarantine_databases", delete)


def _a_lease_is_not_synced(patch: pytest.MonkeyPatch) -> None:
    """Rename a lease file before its content is synced."""

    def write(path: Path, content: bytes) -> None:
        temporary = path.with_suffix(".aside")
        temporary.write_bytes(content)
        os.replace(temporary, path)

    patch.setattr(lease, "write_durably", write)


def _a_journal_has_no_chain(patch: pytest.MonkeyPatch) -> None:
    """Skip checking the hashes of journal lines."""

    def decode(content: bytes, header: JournalHeader) -> JournalContents:
        lines = content.partition(b"\n")[2].split(b"\n")
        rest = lines.pop()
        chain = lines[-1][:_HASH_LENGTH] if lines else first_hash(header.fixed)
        return JournalContents([line[_HASH_LENGTH + 1 :] for line in lines], chain, len(content) - len(rest))

    patch.setattr(journal, "decode_journal", decode)


def _an_intent_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Send a step to a service without journaling its intent."""
    patch.setattr(Journal, "record_intent", lambda *_arguments: None)


def _an_outcome_is_answered_before_it_is_journalled(patch: pytest.MonkeyPatch) -> None:
    """Journal a step's outcome shortly after responding."""
    take = Journal.record_step

    def take_late(self: Journal, *arguments: Any) -> None:
        def write() -> None:
            if self._file is not None:
                take(self, *arguments)

        asyncio.get_running_loop().call_later(_LATE_S, write)

    patch.setattr(Journal, "record_step", take_late)


def _a_missing_database_reads_as_empty(patch: pytest.MonkeyPatch) -> None:
    """Open a missing database as empty, and skip the checks at startup."""
    patch.setattr(Session, "check_written", lambda *_arguments: None)
    patch.setattr(Inventory, "check", lambda *_arguments: None)
    patch.setattr(Recovery, "_check_databases", _unchecked)


async def _unchecked(*_arguments: object, **_named: object) -> None:
    pass


def _a_snapshot_omits_a_service(patch: pytest.MonkeyPatch) -> None:
    """Omit one touched service from the gateway's snapshots."""
    keep_databases = Snapshots._keep_databases

    async def snapshot_without_one_service(self: Snapshots, episode: Episode) -> dict[str, str]:
        left_out = max(episode.progress.touched, default="")
        return {**await keep_databases(self, episode), left_out: episode.task.sources[left_out]} if left_out else {}

    patch.setattr(Snapshots, "_keep_databases", snapshot_without_one_service)


def _refusals_have_no_code(patch: pytest.MonkeyPatch) -> None:
    """Refuse requests without a problem code."""

    async def respond_without_code(_request: Any, error: Any) -> PlainTextResponse:
        return PlainTextResponse("no", status_code=error.status)

    patch.setattr(error_responses, "_on_gateway_error", respond_without_code)


def _by_name(*defects: InstallDefect) -> dict[str, InstallDefect]:
    return {install.__name__.strip("_").replace("_", "-"): install for install in defects}


SIMULATION_DEFECTS = _by_name(
    _fencing_in_memory,
    _generations_are_not_checked,
    _a_start_deletes_what_it_cannot_explain,
    _a_lease_is_not_synced,
    _a_journal_has_no_chain,
    _an_intent_is_forgotten,
    _an_outcome_is_answered_before_it_is_journalled,
    _a_missing_database_reads_as_empty,
    _op_ids_are_ignored,
    _old_epochs_are_served,
    _a_restore_forgets_one_service,
    _a_snapshot_does_not_wait_for_its_turn,
    _a_live_file_is_copied,
    _forks_share_an_episode,
    _outcomes_are_not_journalled,
)
"""Defects that the simulation finds within 2,000 histories."""

FAULT_DEFECTS = _by_name(
    _op_ids_are_ignored,
    _an_intent_is_forgotten,
    _outcomes_are_not_journalled,
    _a_snapshot_omits_a_service,
    _refusals_have_no_code,
)
"""Defects that the fault suite finds."""
