"""Data folders of earlier versions are opened, or quarantined completely."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from companyos_gateway.engine.manifest import FORMAT
from tests.gateway.conftest import OpenGateway
from tests.gateway.data_folder import EPISODE, EXPECTED, FIXTURES

PACKED = sorted(FIXTURES.glob("data-folder-format-*.tar.gz"))
OLDER = b'"format":1,"version":"0.1.0"'


def unpack(packed: Path, folder: Path) -> dict[str, Any]:
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    expected: dict[str, Any] = json.loads((folder / EXPECTED).read_text())
    return expected


def digests(folder: Path) -> set[str]:
    """Return the digests of the files of episodes and snapshots, anywhere in the folder."""
    found = [path for path in folder.rglob("*") if path.suffix in (".db", ".jsonl") or path.name == "manifest.json"]
    return {hashlib.sha256(path.read_bytes()).hexdigest() for path in found if "templates" not in path.parts}


def test_a_data_folder_of_this_format_exists() -> None:
    assert f"data-folder-format-{FORMAT}.tar.gz" in {path.name for path in PACKED}


@pytest.mark.parametrize("packed", PACKED, ids=lambda path: path.name.removesuffix(".tar.gz"))
async def test_a_data_folder_of_any_version_is_opened_or_quarantined(
    open_kept: OpenGateway, tmp_path: Path, packed: Path
) -> None:
    expected, before = unpack(packed, tmp_path), digests(tmp_path)
    async with open_kept() as gateway:
        items = await gateway.quarantine()
        if not items:
            state = await gateway.state(EPISODE)
            assert {name: state[name] for name in expected["state"]} == expected["state"]
            assert "after the snapshot" in await gateway.texts(EPISODE)
            forked = (await gateway.fork(expected["snapshot"]))[0]
            assert {"before the snapshot"} <= set(await gateway.texts(forked)) - {"after the snapshot"}
        else:
            assert {item["reason"] for item in items} <= {"unsupported-format", "task-changed"}
            assert before <= digests(tmp_path)


async def test_the_first_format_is_quarantined_and_can_be_restored(
    open_kept: OpenGateway, kept: Path, tmp_path: Path
) -> None:
    unpack(PACKED[-1], tmp_path)
    for path in (kept / "gateway").rglob("manifest.json"):
        path.write_bytes(b"{" + OLDER + b',"id":"%s"}' % EPISODE.encode())
    before = digests(tmp_path)
    async with open_kept() as gateway:
        (item,) = await gateway.quarantine()
        assert (item["reason"], item["episode_id"]) == ("unsupported-format", EPISODE)
        assert before <= digests(tmp_path)
        assert (await gateway.http.post(f"/v1/quarantine/{item['id']}/restore")).status_code == 200
    assert before <= digests(tmp_path)
    assert list((kept / "gateway" / "quarantine").iterdir()) == []
    assert list((tmp_path / "notes" / "quarantine").iterdir()) == []
