"""The journal of an epoch: what was intended, before anything is sent, and what was taken, before it is answered.

One JSON line each. The journal is complete from step 1, so an episode is the fold of its journal.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
from openenv.core.env_server.mcp_types import ToolError
from pydantic import BaseModel, ConfigDict, ValidationError

from companyos.contract import Outcome
from companyos_gateway.episode.errors import JournalUnreadable, StorageFull
from companyos_gateway.episode.link import Reported
from companyos_gateway.episode.outcome import Balance
from companyos_gateway.rubrics import FinishDeclaration
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
    """The file of one epoch. It is opened by its first line and closed with its episode."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._unwritten = b""

    def intend(self, intent: Intent) -> None:
        """Write that a step is about to be taken; raises StorageFull (507), and then nothing was written."""
        line = orjson.dumps({"intent": {"step": intent.step, "tool": intent.tool, "arguments": intent.arguments}})
        self._append(self._unwritten + line + b"\n")
        self._unwritten = b""
        failpoint("gateway.intent.after")

    def take(self, taken: Taken, reports: list[tuple[str, Reported]]) -> None:
        """Write that a step was taken. A line that finds no room waits for the next one: it can be taken again."""
        failpoint("gateway.outcome.before")
        line = _taken_line(taken, reports)
        try:
            self._append(line)
        except StorageFull:
            self._unwritten = line
        failpoint("gateway.outcome.after")

    def lines(self) -> bytes:
        """Return every whole line; a torn last one, whose writer was killed, is not one."""
        try:
            written = self.path.read_bytes()
        except FileNotFoundError:
            written = b""
        return written[: written.rfind(b"\n") + 1] + self._unwritten

    def mend(self) -> None:
        """Cut off a torn last line."""
        with suppress(FileNotFoundError):
            os.truncate(self.path, len(self.lines()))

    def begin(self, lines: bytes) -> None:
        """Write the lines that the epoch starts with; raises StorageFull (507)."""
        if lines:
            self._append(lines)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append(self, lines: bytes) -> None:
        try:
            if self._file is None:
                self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            written = os.write(self._file, lines)
        except OSError as error:
            raise StorageFull(f"The journal cannot be written: {error.strerror}.") from error
        if written < len(lines):
            os.ftruncate(self._file, os.fstat(self._file).st_size - written)
            raise StorageFull("The journal cannot be written: there is no room.")


def entries(lines: bytes) -> Iterator[Entry]:
    """Yield the lines of a journal; raises JournalUnreadable for one that is none."""
    for number, line in enumerate(lines.splitlines(), start=1):
        try:
            yield Entry.model_validate_json(line)
        except ValidationError as error:
            raise JournalUnreadable(f"line {number}: {error.errors()[0]['msg']}") from error


def _taken_line(taken: Taken, reports: list[tuple[str, Reported]]) -> bytes:
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
    return orjson.dumps({"taken": content}) + b"\n"
