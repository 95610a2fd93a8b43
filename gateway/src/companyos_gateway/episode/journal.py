"""The journal of an epoch: what was intended, before anything is sent, and what was taken, before it is answered.

One JSON payload each. The journal is complete from step 1, so an episode is the fold of its journal.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from errno import ENOSPC
from pathlib import Path
from typing import Any

import orjson
from openenv.core.env_server.mcp_types import ToolError
from pydantic import BaseModel, ConfigDict, ValidationError

from companyos.contract import Outcome
from companyos_gateway.episode.errors import Reason, StorageFull, UnusableError
from companyos_gateway.episode.journal_format import Header, decode, encode_header, encode_lines, first_hash
from companyos_gateway.episode.link import Reported
from companyos_gateway.episode.outcome import Balance
from companyos_gateway.evaluation import FinishDeclaration
from companyos_shared.failpoints import failpoint
from companyos_shared.wire.control import Report


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Intent(_Line):
    """A step that is about to be taken. Everything else about it follows from the episode as it stands."""

    step: int
    tool: str
    arguments: dict[str, Any]


class Taken(_Line):
    """A step that was taken: all that it changed in the episode, and all that it answered."""

    step: int
    tool: str
    arguments: dict[str, Any]
    now: datetime
    asked: tuple[str, str, str] | None = None
    reports: tuple[tuple[str, Report], ...] = ()
    finish: FinishDeclaration | None = None
    is_judged: bool = False
    balance: Balance
    reward: float
    end: Outcome | None = None
    note: str
    result: Any = None
    error: ToolError | None = None


class Entry(_Line):
    """One line: an intent, or what was taken."""

    intent: Intent | None = None
    taken: Taken | None = None


class Journal:
    """The file of one epoch, which begins with a header that names its manifest. It is closed with its episode."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.manifest_checksum = header.manifest
        self._header = header
        self._fixed = header.fixed
        self._file: int | None = None
        self._chain = first_hash(self._fixed)
        self._count = 0
        self._size_bytes = 0
        self._unwritten: list[bytes] = []

    def begin(self, payloads: list[bytes], path: Path | None = None) -> None:
        """Create the file, under another path until it is renamed, with these lines; raises StorageFull (507)."""
        lines, chain = encode_lines(self._chain, payloads)
        content = encode_header(self._fixed, len(payloads), chain) + lines
        try:
            self._file = os.open(path or self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            if os.write(self._file, content) < len(content):
                raise OSError(ENOSPC, os.strerror(ENOSPC))
        except OSError as error:
            raise StorageFull(f"The journal cannot be written: {error.strerror}.") from error
        self._chain, self._count, self._size_bytes = chain, len(payloads), len(content)

    def recover(self) -> list[bytes]:
        """Return the payloads of a file that was begun before, and cut off what its killed writer left half written.

        Raises UnusableError for one that is damaged or of another format, and OSError.
        """
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            raise UnusableError(Reason.DAMAGED, "the journal is missing") from None
        found = decode(content, self._header)
        if found.size_bytes < len(content):
            os.truncate(self.path, found.size_bytes)
        self._chain, self._count, self._size_bytes = found.chain, len(found.payloads), found.size_bytes
        return found.payloads

    def intend(self, intent: Intent) -> None:
        """Write that a step is about to be taken; raises StorageFull (507), and then nothing was written."""
        payload = orjson.dumps({"intent": {"step": intent.step, "tool": intent.tool, "arguments": intent.arguments}})
        self._append([*self._unwritten, payload])
        self._unwritten = []
        failpoint("gateway.intent.after")

    def take(self, taken: Taken, reports: list[tuple[str, Reported]]) -> None:
        """Write that a step was taken. A line that finds no room waits for the next one: it can be taken again."""
        failpoint("gateway.outcome.before")
        payload = _taken_payload(taken, reports)
        try:
            self._append([payload])
        except StorageFull:
            self._unwritten = [payload]
        failpoint("gateway.outcome.after")

    def payloads(self) -> list[bytes]:
        """Return the payloads of all lines, read again from the file; raises UnusableError and OSError."""
        return decode(self.path.read_bytes(), self._header).payloads + self._unwritten

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append(self, payloads: list[bytes]) -> None:
        lines, chain = encode_lines(self._chain, payloads)
        count = self._count + len(payloads)
        try:
            if self._file is None:
                self._file = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            if os.pwrite(self._file, lines, self._size_bytes) < len(lines):
                raise OSError(ENOSPC, os.strerror(ENOSPC))
            failpoint("gateway.header.before")
            os.pwrite(self._file, encode_header(self._fixed, count, chain), 0)
        except OSError as error:
            if self._file is not None:
                with suppress(OSError):
                    os.ftruncate(self._file, self._size_bytes)
            raise StorageFull(f"The journal cannot be written: {error.strerror}.") from error
        self._chain, self._count, self._size_bytes = chain, count, self._size_bytes + len(lines)


def entries(payloads: Iterable[bytes]) -> Iterator[Entry]:
    """Yield the entries of a journal; raises UnusableError for a line that this version does not read."""
    for number, payload in enumerate(payloads, start=1):
        try:
            yield Entry.model_validate_json(payload)
        except ValidationError as error:
            raise UnusableError(Reason.FORMAT, f"line {number} of the journal: {error.errors()[0]['msg']}") from error


def _taken_payload(taken: Taken, reports: list[tuple[str, Reported]]) -> bytes:
    content: dict[str, Any] = {
        "step": taken.step,
        "tool": taken.tool,
        "arguments": taken.arguments,
        "now": taken.now,
        "asked": taken.asked,
        "reports": [(service, orjson.Fragment(reported.raw)) for service, reported in reports],
        "finish": None if taken.finish is None else taken.finish.model_dump(mode="json"),
        "is_judged": taken.is_judged,
        "balance": taken.balance.as_json(),
        "reward": taken.reward,
        "end": taken.end,
        "note": taken.note,
        "result": taken.result,
        "error": None if taken.error is None else taken.error.model_dump(mode="json"),
    }
    return orjson.dumps({"taken": content})
