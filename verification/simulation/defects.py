"""Seeded defects: each breaks a guarantee of the product, and the simulation must detect it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from companyos_gateway.engine import journal
from companyos_gateway.engine.episode_removal import control_context
from companyos_gateway.engine.journal import Journal
from companyos_gateway.engine.journal_format import JournalContents, JournalHeader, first_hash
from companyos_gateway.engine.reconciliation import Inventory, Reconciliation
from companyos_gateway.engine.recovery import Recovery
from companyos_shared.framework import lease
from companyos_shared.framework.episodes import Episodes
from companyos_shared.framework.lease import Lease
from companyos_shared.framework.sessions import Session
from companyos_shared.framework.storage import begin
from companyos_shared.wire.context import CallContext
from verification.defects import DEFECTS as DEFECTS_OF_EPISODES
from verification.defects import InstallDefect

_HASH_LENGTH = 32
_LATE_S = 0.2


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


NOT_FOUND_HERE = ("forks-share-an-episode", "old-epochs-are-served")
"""Defects that `make nightly` detects, but no simulated history does."""

DEFECTS: dict[str, InstallDefect] = {
    "fencing-in-memory": _fencing_in_memory,
    "generations-are-not-checked": _generations_are_not_checked,
    "a-start-deletes-what-it-cannot-explain": _a_start_deletes_what_it_cannot_explain,
    "a-lease-is-not-synced": _a_lease_is_not_synced,
    "a-journal-has-no-chain": _a_journal_has_no_chain,
    "an-intent-is-forgotten": _an_intent_is_forgotten,
    "an-outcome-is-answered-before-it-is-journalled": _an_outcome_is_answered_before_it_is_journalled,
    "a-missing-database-reads-as-empty": _a_missing_database_reads_as_empty,
    **{name: install for name, install in DEFECTS_OF_EPISODES.items() if name not in NOT_FOUND_HERE},
}
"""All defects by name; each is detected within 2,000 histories."""
