"""Reads the services' databases from their files, independently of responses."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from companyos_shared.framework.database import epoch_files
from verification.faults.step_script import CANARY

_TABLES = {
    "ticketdesk": ("comments", "body"),
    "datahub": ("data_issues", "description"),
    "approvalflow": ("notes", "body"),
}


def database_of(data_folders: Sequence[Path], service: str, *, episode: str, epoch: int) -> Path | None:
    """Return a service's database of an epoch in one of the data folders; None if it was not opened."""
    found = (epoch_files(data / service / "episodes" / episode).get(epoch) for data in data_folders)
    return next((path for path in found if path is not None), None)


def count_canaries(data_folders: Sequence[Path], service: str, *, episode: str, epoch: int) -> Counter[str] | None:
    """Return the count of each canary in a service's rows of an epoch; None if it was not opened."""
    path = database_of(data_folders, service, episode=episode, epoch=epoch)
    if path is None:
        return None
    table, column = _TABLES[service]
    return Counter(text for text in _column(path, table, column) if CANARY.fullmatch(text))


def audited_twice(data_folders: Sequence[Path], service: str, *, episode: str, epoch: int) -> list[int]:
    """Return the steps that occur more than once in the audit of an epoch."""
    path = database_of(data_folders, service, episode=episode, epoch=epoch)
    if path is None:
        return []
    steps = Counter(int(step) for step in _column(path, "_audit", "step"))
    return sorted(step for step, times in steps.items() if times > 1)


def _column(path: Path, table: str, column: str) -> list[str]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5.0)) as db:
        return [str(row[0]) for row in db.execute(f"SELECT {column} FROM {table}")]  # noqa: S608  # names of our own
