"""Seeded defects: each breaks one guarantee of the product while a test patches it in.

`pytest tests/promises/test_state_machine.py --defect NAME` installs one; the state machine must find it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from companyos.contract import SnapshotInfo
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.journal import Journal
from companyos_gateway.engine.manifest import Manifest
from companyos_gateway.engine.snapshots import Snapshots
from companyos_gateway.engine.store import EpisodeStore
from companyos_shared.framework.database import Database
from companyos_shared.framework.episodes import Episodes
from companyos_shared.framework.sessions import Session
from companyos_shared.wire.context import CallContext

InstallDefect = Callable[[pytest.MonkeyPatch], None]


def _op_ids_are_ignored(patch: pytest.MonkeyPatch) -> None:
    """Forget the last applied step: a repeated call is applied again."""
    begin = Episodes.begin

    def begin_without_memory(self: Episodes, session: Session, context: CallContext) -> None:
        begin(self, session, context)
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


DEFECTS: dict[str, InstallDefect] = {
    "op-ids-are-ignored": _op_ids_are_ignored,
    "old-epochs-are-served": _old_epochs_are_served,
    "a-restore-forgets-one-service": _a_restore_forgets_one_service,
    "a-snapshot-does-not-wait-for-its-turn": _a_snapshot_does_not_wait_for_its_turn,
    "a-live-file-is-copied": _a_live_file_is_copied,
    "forks-share-an-episode": _forks_share_an_episode,
    "outcomes-are-not-journalled": _outcomes_are_not_journalled,
}
"""All defects by name."""
