"""Private files: only the service's own user can read its files."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from companyos_shared.framework import ServiceSettings, create_app
from companyos_shared.private_files import make_private_folder

if TYPE_CHECKING:
    from companyos_shared.framework.testing import ServiceHarness


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in [folder, *folder.rglob("*")]}


async def test_a_service_keeps_its_files_private(library: ServiceHarness, tmp_path: Path) -> None:
    settings = ServiceSettings(service_key=None, service_key_file=None, data_dir=tmp_path / "data" / "here")
    app = create_app(library.service, settings)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as http:
        assert (await http.post("/books", json={"title": "Kept"})).status_code == 201
        found = modes(tmp_path / "data")
    assert len(found) > 5
    assert {path: oct(mode) for path, mode in found.items() if mode & 0o077} == {}


def test_a_folder_with_public_permissions_is_made_private_with_its_contents(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "data"
    (folder / "episodes").mkdir(parents=True)
    (folder / "episodes" / "1.db").write_bytes(b"rows")
    outside = tmp_path / "outside"
    outside.write_text("not ours")
    (folder / "link").symlink_to(outside)
    with caplog.at_level(logging.WARNING):
        make_private_folder(folder)
    assert modes(folder) == {".": 0o700, "episodes": 0o700, "episodes/1.db": 0o600, "link": 0o644}
    assert "was readable by other users" in caplog.text
    caplog.clear()
    make_private_folder(folder)
    assert caplog.text == ""


def test_a_folder_of_another_user_is_used_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError

    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    monkeypatch.setattr(Path, "chmod", refused)
    with caplog.at_level(logging.WARNING):
        assert make_private_folder(folder) == folder
    assert "belongs to another user" in caplog.text
