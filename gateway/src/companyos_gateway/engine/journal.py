"""The journal of an epoch: each intent before any call is sent, each completed step before it is returned.

Every entry is one JSON payload. The journal is complete from step 1, so an episode is the fold of its journal.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from errno import ENOSPC
from pathlib import Path
from typing import Any

import orjson
from openenv.core.env_server.mcp_types import ToolError
from pydantic import BaseModel, ConfigDict, ValidationError

from companyos.contract import Outcome
from companyos_gateway.engine.errors import QuarantineReason, StorageFullError, UnusableFilesError
from companyos_gateway.engine.journal_format import (
    JournalHeader,
    decode_journal,
    encode_header,
    encode_lines,
    first_hash,
)
from companyos_gateway.engine.reward import LedgerBalance
from companyos_gateway.engine.service_client import ReceivedReport
from companyos_gateway.evaluation import FinishDeclaration
from companyos_shared.failpoints import failpoint
from companyos_shared.wire.control import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class StepIntent:
    """A step that is about to be taken. Everything else about it follows from the state of the episode."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    step: int
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedStep:
    """A step that was taken: all its changes to the episode, and all data of its observation."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    step: int
    tool: str
    arguments: dict[str, Any]
    now: datetime
    call_key: tuple[str, str, str] | None = None
    reports: tuple[tuple[str, Report], ...] = ()
    finish: FinishDeclaration | None = None
    is_judged: bool = False
    balance: LedgerBalance
    reward: float
    end: Outcome | None = None
    note: str
    result: Any = None
    error: ToolError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """View of a page after a step: the objects that it showed for the first time.

    `is_counted` is true if it counts as a page view of the agent.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    step: int
    shown: list[dict[str, Any]]
    is_counted: bool = False


class Entry(BaseModel):
    """One line of a journal: an intent, a completed step, or a page view."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    intent: StepIntent | None = None
    taken: CompletedStep | None = None
    view: PageView | None = None


class Journal:
    """The journal file of one epoch; its header contains the checksum of the manifest."""

    def __init__(self, path: Path, header: JournalHeader) -> None:
        self.path = path
        self.manifest_checksum = header.manifest
        self._header = header
        self._fixed_header = header.fixed
        self._file: int | None = None
        self._chain = first_hash(self._fixed_header)
        self._count = 0
        self._size_bytes = 0
        self._unwritten_payloads: list[bytes] = []

    def begin(self, payloads: list[bytes], path: Path | None = None) -> None:
        """Create the file with these payloads, at a temporary path if given; raises StorageFullError (507)."""
        lines, chain = encode_lines(self._chain, payloads)
        content = encode_header(self._fixed_header, len(payloads), chain) + lines
        try:
            self._file = os.open(path or self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            if os.write(self._file, content) < len(content):
                raise OSError(ENOSPC, os.strerror(ENOSPC))
        except OSError as error:
            raise StorageFullError(f"Failed to write the journal: {error.strerror}.") from error
        self._chain, self._count, self._size_bytes = chain, len(payloads), len(content)

    def recover(self) -> list[bytes]:
        """Open an existing file and return its payloads; an incomplete last line of a killed writer is truncated.

        Raises UnusableFilesError for a file that is missing, damaged or of another format, and OSError.
        """
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            raise UnusableFilesError(QuarantineReason.DAMAGED, "the journal is missing") from None
        contents = decode_journal(content, self._header)
        if contents.size_bytes < len(content):
            os.truncate(self.path, contents.size_bytes)
        self._chain, self._count, self._size_bytes = contents.chain, len(contents.payloads), contents.size_bytes
        return contents.payloads

    def record_intent(self, intent: StepIntent) -> None:
        """Write the intent of a step; raises StorageFullError (507), and then nothing is written."""
        payload = orjson.dumps({"intent": intent})
        self._append([*self._unwritten_payloads, payload])
        self._unwritten_payloads = []
        failpoint("gateway.intent.after")

    def record_step(self, completed: CompletedStep, reports: list[tuple[str, ReceivedReport]]) -> None:
        """Write a completed step. If the disk is full, the line is written with the next one; a recovery repeats it."""
        failpoint("gateway.outcome.before")
        self._append_or_keep(_completed_payload(completed, reports))
        failpoint("gateway.outcome.after")

    def record_view(self, view: PageView) -> None:
        """Write a page view. If the disk is full, the line is written with the next one."""
        self._append_or_keep(orjson.dumps({"view": view}))

    def payloads(self) -> list[bytes]:
        """Return all payloads, read again from the file and verified; raises UnusableFilesError and OSError."""
        return decode_journal(self.path.read_bytes(), self._header).payloads + self._unwritten_payloads

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append_or_keep(self, payload: bytes) -> None:
        payloads, self._unwritten_payloads = [*self._unwritten_payloads, payload], []
        try:
            self._append(payloads)
        except StorageFullError:
            self._unwritten_payloads = payloads

    def _append(self, payloads: list[bytes]) -> None:
        lines, chain = encode_lines(self._chain, payloads)
        count = self._count + len(payloads)
        try:
            if self._file is None:
                self._file = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            if os.pwrite(self._file, lines, self._size_bytes) < len(lines):
                raise OSError(ENOSPC, os.strerror(ENOSPC))
            failpoint("gateway.header.before")
            os.pwrite(self._file, encode_header(self._fixed_header, count, chain), 0)
        except OSError as error:
            if self._file is not None:
                with suppress(OSError):
                    os.ftruncate(self._file, self._size_bytes)
            raise StorageFullError(f"Failed to write the journal: {error.strerror}.") from error
        self._chain, self._count, self._size_bytes = chain, count, self._size_bytes + len(lines)


def entries(payloads: Iterable[bytes]) -> Iterator[Entry]:
    """Yield the entries of a journal; raises UnusableFilesError for a line that this version cannot parse."""
    for number, payload in enumerate(payloads, start=1):
        try:
            yield Entry.model_validate_json(payload)
        except ValidationError as error:
            raise UnusableFilesError(
                QuarantineReason.FORMAT, f"line {number} of the journal: {error.errors()[0]['msg']}"
            ) from error


def _completed_payload(completed: CompletedStep, reports: list[tuple[str, ReceivedReport]]) -> bytes:
    content: dict[str, Any] = {
        "step": completed.step,
        "tool": completed.tool,
        "arguments": completed.arguments,
        "now": completed.now,
        "call_key": completed.call_key,
        "reports": [(service, orjson.Fragment(received_report.raw)) for service, received_report in reports],
        "finish": None if completed.finish is None else completed.finish.model_dump(mode="json"),
        "is_judged": completed.is_judged,
        "balance": completed.balance,
        "reward": completed.reward,
        "end": completed.end,
        "note": completed.note,
        "result": completed.result,
        "error": None if completed.error is None else completed.error.model_dump(mode="json"),
    }
    return orjson.dumps({"taken": content})
