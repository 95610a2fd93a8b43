"""Temporary data folders are deleted on exit, or by the next gateway if their own was killed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from companyos_gateway.process.data_folder import temporary_data_folder


def test_a_temporary_folder_is_deleted_on_exit(tmp_path: Path) -> None:
    with temporary_data_folder(tmp_path) as folder:
        (folder / "data").mkdir()
    assert list(tmp_path.iterdir()) == []


def test_the_next_gateway_deletes_the_folder_of_a_killed_one_but_not_one_in_use(tmp_path: Path) -> None:
    with temporary_data_folder(tmp_path) as folder:
        used = folder.rename(tmp_path / "companyos-embedded-999999999-used")  # in another container, pids differ
        killed = tmp_path / f"companyos-embedded-{os.getpid()}-killed"
        killed.mkdir()
        with temporary_data_folder(tmp_path) as other:
            assert set(tmp_path.iterdir()) == {used, other}


def test_a_folder_of_another_user_and_a_link_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (target := tmp_path / "target").mkdir()
    (link := tmp_path / "companyos-embedded-1-link").symlink_to(target)
    with temporary_data_folder(tmp_path):
        assert link.is_symlink()
    (foreign := tmp_path / "companyos-embedded-1-foreign").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with temporary_data_folder(tmp_path):
        assert list(foreign.iterdir()) == list(target.iterdir()) == []
