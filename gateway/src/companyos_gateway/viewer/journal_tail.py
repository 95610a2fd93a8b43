"""The lines of a journal that is being written: whole ones alone, each once, one at a time in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from companyos_gateway.engine.journal import CompletedStep, Entry
from companyos_gateway.engine.journal_format import initial_chain_hash, parse_payload, verify_line


class JournalTail:
    """A journal opened for reading; it can be read on after its file is gone. Where there is none it has no lines."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO | None = None
        self._path = path
        self._chain = b""
        self._number = 0

    def __enter__(self) -> JournalTail:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def read_new_steps(self) -> Iterator[CompletedStep]:
        """Yield the steps that were taken since the last call; a line that is being written is left for the next.

        Raises UnusableFilesError for a line that is not the one that was written.
        """
        if self._file is None:
            try:
                self._file = self._path.open("rb")
            except FileNotFoundError:
                return
            self._chain = initial_chain_hash(self._file.readline())
        while True:
            line_start = self._file.tell()
            line = self._file.readline()
            if not line.endswith(b"\n"):
                self._file.seek(line_start)
                return
            self._number += 1
            self._chain = verify_line(self._chain, line[:-1], self._number)
            taken = Entry.model_validate_json(parse_payload(line)).taken
            if taken is not None:
                yield taken
