"""The folders of a gateway: its data, which may be temporary, and a temporary private folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from companyos_shared.folder_lock import lock_folder
from companyos_shared.private_files import make_private_folder
from companyos_shared.temporary_folders import temporary_data_folder


@dataclass(frozen=True, slots=True)
class GatewayFolders:
    """Folders of one gateway: `private` is deleted on exit, `data` is for all data, `gateway` is its own part of it."""

    private: Path
    data: Path
    gateway: Path


@contextmanager
def open_folders(data_dir: Path | None = None) -> Iterator[GatewayFolders]:
    """Open and lock the folders of a gateway; without `data_dir` all of them are deleted on exit.

    Raises FolderInUseError if another gateway uses `data_dir`, and OSError if it cannot be used.
    """
    with temporary_data_folder() as private:
        data = private / "data" if data_dir is None else data_dir
        with make_locked_folder(data / "gateway") as own:
            yield GatewayFolders(private, data, own)


@contextmanager
def make_locked_folder(folder: Path) -> Iterator[Path]:
    """Make a private folder if it is missing, and hold its lock; raises FolderInUseError or OSError."""
    make_private_folder(folder)
    with lock_folder(folder):
        yield folder
