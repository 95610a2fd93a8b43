"""Inventory and quarantine of a service: unknown files are moved away, can be restored, and are never deleted."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.wire.control import QuarantineReply, StoredEpisode, StoredSnapshot

LEND = "/books/B-1/lend"


def _folder(library: ServiceHarness) -> Path:
    folder: Path = library.app.state.episodes.storage.folder
    return folder


def _refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


async def _entries(library: ServiceHarness) -> QuarantineReply:
    return QuarantineReply.model_validate((await library.control("quarantine/list", {})).json())


async def test_the_inventory_names_episodes_with_their_epochs_and_snapshots_with_theirs(
    library: ServiceHarness,
) -> None:
    await library.post(LEND)
    source = await library.snapshot()
    library.episode, library.epoch, library.step = "second", 4, 0
    await library.post(LEND)
    found = await library.inventory()
    assert found.episodes == [StoredEpisode(id="second", epochs=[4]), StoredEpisode(id="test", epochs=[1])]
    assert found.sources == [StoredSnapshot(source=source, episode="test", epoch=1)]


async def test_the_inventory_names_unreadable_files(library: ServiceHarness) -> None:
    source = await library.snapshot()
    (_folder(library) / "snapshots" / f"{source}.db").write_bytes(b"torn")
    (_folder(library) / "snapshots" / "notes.db").write_bytes(b"somebody's")
    (_folder(library) / "episodes" / "empty").mkdir(parents=True)
    found = await library.inventory()
    assert found.episodes == [StoredEpisode(id="empty", epochs=[])]
    assert found.sources == [StoredSnapshot(source=source, episode=None, epoch=None)]


async def test_an_episode_is_restored_unchanged_from_quarantine(library: ServiceHarness) -> None:
    await library.post(LEND)
    before, evidence = await library.digest(), await library.evidence()
    made = await library.quarantine(episodes=["test", "never-seen"])
    assert [(entry.entry, entry.episode, entry.reason) for entry in made.entries] == [("test", "test", "a test")]
    assert made.entries[0].bytes > 0
    assert (await library.inventory()).episodes == []
    library.restart()
    assert (await _entries(library)).entries == made.entries
    assert (await library.control("quarantine/restore", {"entries": ["test"]})).status_code == 200
    assert (await library.digest(), await library.evidence()) == (before, evidence)
    assert (await _entries(library)).entries == []


async def test_an_episode_that_was_modified_in_quarantine_is_corrupt(library: ServiceHarness) -> None:
    await library.post(LEND)
    await library.quarantine(episodes=["test"])
    (file,) = library.folder.rglob("1-*.db")
    file.write_bytes(file.read_bytes().replace(b"Volume 01", b"Volume 0X"))
    await library.control("quarantine/restore", {"entries": ["test"]})
    assert _refusal(await library.get("/books/B-1")) == (410, "episode-corrupt")


async def test_a_snapshot_is_restored_unchanged_from_quarantine(library: ServiceHarness) -> None:
    await library.post(LEND)
    source = await library.snapshot()
    await library.quarantine(sources=[source])
    assert _refusal(await library.control("check", {"source": source})) == (404, "unknown-source")
    assert [entry.source for entry in (await _entries(library)).entries] == [source]
    await library.control("quarantine/restore", {"entries": [source]})
    assert (await library.check(source)).source == source


async def test_an_entry_does_not_replace_a_live_episode(library: ServiceHarness) -> None:
    await library.post(LEND)
    await library.quarantine(episodes=["test"])
    library.step = 0
    await library.post("/books/B-2/lend")
    live = await library.digest()
    refused = await library.control("quarantine/restore", {"entries": ["test"]})
    assert _refusal(refused) == (409, "quarantine-conflict")
    assert await library.digest() == live
    await library.quarantine(episodes=["test"])
    assert [entry.entry for entry in (await _entries(library)).entries] == ["test", "test.2"]


async def test_entries_are_only_removed_by_name(library: ServiceHarness) -> None:
    await library.post(LEND)
    await library.quarantine(episodes=["test"])
    for wrong, expected in {
        "other": (404, "unknown-entry"),
        "..": (422, "invalid-arguments"),
        "../episodes": (422, "invalid-arguments"),
        "": (422, "invalid-arguments"),
    }.items():
        for verb in ("restore", "remove"):
            assert _refusal(await library.control(f"quarantine/{verb}", {"entries": [wrong]})) == expected, wrong
    await library.control("quarantine/remove", {"entries": ["test"]})
    assert (await _entries(library)).entries == []
    assert list((_folder(library) / "quarantine").iterdir()) == []


async def test_an_entry_without_a_readable_reason_is_listed(library: ServiceHarness) -> None:
    await library.post(LEND)
    await library.quarantine(episodes=["test"])
    (_folder(library) / "quarantine" / "test" / "reason.json").write_bytes(b"\0")
    assert [entry.entry for entry in (await _entries(library)).entries] == ["test"]


@pytest.mark.parametrize("body", [{"episodes": ["../x"]}, {"sources": ["../../x"]}])
async def test_a_path_is_not_a_valid_name(library: ServiceHarness, body: dict[str, list[str]]) -> None:
    refused = await library.control("quarantine", {**body, "reason": "a test"})
    assert _refusal(refused) == (422, "invalid-arguments")
