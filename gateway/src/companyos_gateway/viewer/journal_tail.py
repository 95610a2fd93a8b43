"""Reader of a journal that is being written. It yields each complete line once, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from companyos_gateway.engine.journal import Entry
from companyos_gateway.engine.journal_format import initial_chain_hash, parse_payload, verify_line


class JournalTail:
    """An open journal, readable even after its file is deleted. A missing journal has no lines."""

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

    def read_new_entries(self) -> Iterator[Entry]:
        """Yield the entries written since the last call, without an incomplete last line.

        Raises UnusableFilesError for a corrupt line.
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
            yield Entry.model_validate_json(parse_payload(line))
