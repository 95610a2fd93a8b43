"""A gateway that starts with unreadable files deletes none of them."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from companyos.contract import DEFAULT_SCENARIO
from companyos_gateway.engine.quarantine import Quarantine
from companyos_gateway.engine.service_clients import ServiceClients
from tests.gateway.conftest import OpenGateway, problem
from tests.gateway.notes import STARTED_AT, NoteKeeping

pytestmark = pytest.mark.matrix

Damage = Callable[[Path], None]


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at // 8] ^= 1 << at % 8
    path.write_bytes(content)


def flip_bit(twelfth: int) -> Damage:
    def damage(path: Path) -> None:
        flip(path, (8 * path.stat().st_size - 1) * twelfth // 11)

    return damage


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def remove(path: Path) -> None:
    path.unlink()


def lose_the_last_line(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def make_newer(path: Path) -> None:
    path.write_bytes(re.sub(rb'"format":\d', b'"format":9', path.read_bytes()))


def write_many_digits(path: Path) -> None:
    path.write_bytes(re.sub(rb'"format":\d', b'"format":' + b"9" * 5_000, path.read_bytes()))


FLIPS = [pytest.param(flip_bit(seed), id=f"bit {seed}") for seed in range(12)]
CUTS = [truncate, empty, remove, make_newer, write_many_digits]
DAMAGES = [
    *(pytest.param("manifest.json", case.values[0], id=f"manifest-{case.id}") for case in FLIPS),
    *(pytest.param("1.jsonl", case.values[0], id=f"journal-{case.id}") for case in FLIPS),
    *(pytest.param("manifest.json", cut, id=f"manifest-{cut.__name__}") for cut in CUTS),
    *(pytest.param("1.jsonl", cut, id=f"journal-{cut.__name__}") for cut in (*CUTS, lose_the_last_line)),
]


@pytest.mark.parametrize(("name", "damage"), DAMAGES)
async def test_a_damaged_episode_is_quarantined_with_its_databases(
    open_kept: OpenGateway, kept: Path, tmp_path: Path, name: str, damage: Damage
) -> None:
    async with open_kept() as gateway:
        damaged, other = [await gateway.begin() for _ in range(2)]
        for episode in (damaged, other):
            await gateway.step(episode, "notes_write_note", text=f"of {episode}")
        folder = gateway.runtime.engine().store.get(damaged).internal_id
    damage(kept / "gateway" / "episodes" / folder / name)
    for _ in range(2):
        async with open_kept() as gateway:
            assert await gateway.live_ids() == [other]
            assert f"of {other}" in await gateway.texts(other)
            (item,) = await gateway.quarantine()
            assert (item["kind"], item["episode_id"]) == ("episode", damaged)
            assert (await gateway.http.get("/readyz")).json()["quarantine"]["items"] == 1
            assert problem(await gateway.http.get(f"/v1/episodes/{damaged}")) == (410, "episode-quarantined")
        assert notes_in_databases(tmp_path / "notes", folder) == {f"of {damaged}"}
        assert (kept / "gateway" / "quarantine" / item["id"] / "reason.json").exists()


@pytest.mark.parametrize("damage", [truncate, flip_bit(1), lose_the_last_line])
async def test_a_kept_episode_in_quarantine_is_not_replaced(
    open_kept: OpenGateway, kept: Path, tmp_path: Path, damage: Damage
) -> None:
    settings: dict[str, Any] = {"keep_episode": "main", "names": ("note_keeping", DEFAULT_SCENARIO)}
    async with open_kept(**settings) as gateway:
        await gateway.step("main", "notes_write_note", text="one")
        folder = gateway.runtime.engine().store.get("main").internal_id
    files = kept / "gateway" / "episodes" / folder
    damage(files / ("1.jsonl" if damage is lose_the_last_line else "manifest.json"))
    async with open_kept(**settings) as gateway:
        assert await gateway.live_ids() == []
        refused = [
            await gateway.http.get("/v1/episodes/main"),
            await gateway.post_step("main", "notes_list_notes"),
            await gateway.http.post("/reset", json={"scenario": "note_keeping", "episode_id": "main"}),
        ]
        assert {problem(answer) for answer in refused} == {(410, "episode-quarantined")}
        (item,) = await gateway.quarantine()
        assert (await gateway.http.delete(f"/v1/quarantine/{item['id']}")).status_code == 204
    assert notes_in_databases(tmp_path / "notes", folder) == set()
    async with open_kept(**settings) as gateway:
        assert "one" not in await gateway.texts("main")


async def test_an_episode_of_a_changed_task_is_restored_with_the_original_task(open_kept: OpenGateway) -> None:
    async with open_kept() as gateway:
        episode = await gateway.begin("one")
        state = await gateway.state(episode)
    async with open_kept(NoteKeeping(later=STARTED_AT)) as gateway:
        (item,) = await gateway.quarantine()
        assert item["reason"] == "task-changed"
    async with open_kept() as gateway:
        assert (await gateway.http.post(f"/v1/quarantine/{item['id']}/restore")).status_code == 200
        assert await gateway.quarantine() == []
    async with open_kept() as gateway:
        assert await gateway.state(episode) == state
        assert "one" in await gateway.texts(episode)


async def test_an_interrupted_move_to_quarantine_is_completed(
    open_kept: OpenGateway, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_kept() as gateway:
        episode = await gateway.begin("one")
    (manifest,) = (kept / "gateway" / "episodes").glob("*/manifest.json")
    whole = manifest.read_bytes()
    truncate(manifest)
    with monkeypatch.context() as patch:
        patch.setattr(Quarantine, "add_databases", lambda *_given: None)
        async with open_kept() as gateway:
            (item,) = await gateway.quarantine()
            assert item["databases"] == {}
    async with open_kept() as gateway:
        (item,) = await gateway.quarantine()
        assert list(item["databases"]) == ["notes"]
        (moved,) = (kept / "gateway" / "quarantine").glob("*/episode/manifest.json")
        moved.write_bytes(whole)
        assert (await gateway.http.post(f"/v1/quarantine/{item['id']}/restore")).status_code == 200
    async with open_kept() as gateway:
        assert "one" in await gateway.texts(episode)


async def test_unknown_files_and_folders_are_not_changed(open_kept: OpenGateway, kept: Path) -> None:
    async with open_kept() as gateway:
        episode = await gateway.begin("one")
        folder = gateway.runtime.engine().store.get(episode).internal_id
    gateway_dir = kept / "gateway"
    foreign = [
        gateway_dir / "episodes" / "holiday" / "photo.jpg",
        gateway_dir / "episodes" / "notes.txt",
        gateway_dir / "episodes" / folder / "todo.txt",
        gateway_dir / "snapshots" / "backup.tar",
        gateway_dir / "snapshots" / "draft.tmp",
        gateway_dir / "finished" / "mine.txt",
    ]
    for path in foreign:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    async with open_kept() as gateway:
        assert "one" in await gateway.texts(episode)
        found = (await gateway.http.get("/readyz")).json()["quarantine"]["unknown_files"]
        assert found == 5
    assert [path.read_text() for path in foreign] == ["mine"] * len(foreign)


@pytest.mark.parametrize("damage", [truncate, flip_bit(1), make_newer])
async def test_a_damaged_snapshot_is_quarantined_and_its_databases_are_kept(
    open_kept: OpenGateway, kept: Path, tmp_path: Path, damage: Damage
) -> None:
    async with open_kept() as gateway:
        episode = await gateway.begin("one")
        taken = await gateway.snapshot(episode)
        await gateway.step(episode, "notes_write_note", text="two")
    content = (path := kept / "gateway" / "snapshots" / f"{taken}.jsonl").read_bytes()
    before = databases(tmp_path / "notes")
    damage(path)
    async with open_kept() as gateway:
        (item,) = [one for one in await gateway.quarantine() if one["kind"] == "snapshot"]
        assert item["snapshot_id"] == taken
        assert problem(await gateway.http.post(f"/v1/snapshots/{taken}/fork", json={})) == (410, "snapshot-corrupt")
        assert "two" in await gateway.texts(episode)
    assert content != (kept / "gateway" / "quarantine" / item["id"] / f"{taken}.jsonl").read_bytes()
    assert databases(tmp_path / "notes") == before


async def test_a_missing_service_database_quarantines_the_episode(open_kept: OpenGateway, tmp_path: Path) -> None:
    async with open_kept() as gateway:
        episode = await gateway.begin("one")
        folder = gateway.runtime.engine().store.get(episode).internal_id
    for path in (tmp_path / "notes" / "episodes" / folder).iterdir():
        path.unlink()
    async with open_kept() as gateway:
        assert await gateway.live_ids() == []
        (item,) = await gateway.quarantine()
        assert (item["episode_id"], item["reason"]) == (episode, "database-mismatch")


async def quarantined_episode(open_kept: OpenGateway, kept: Path) -> str:
    """Play an episode and damage its manifest, so that the next start quarantines it; return the internal id."""
    async with open_kept() as gateway:
        episode = await gateway.begin("one")
        folder = gateway.runtime.engine().store.get(episode).internal_id
    truncate(kept / "gateway" / "episodes" / folder / "manifest.json")
    return folder


@pytest.mark.parametrize("call", ["remove", "restore"])
async def test_a_repeated_call_completes_what_a_service_has_already_done(
    open_kept: OpenGateway, kept: Path, tmp_path: Path, call: str
) -> None:
    folder = await quarantined_episode(open_kept, kept)
    async with open_kept() as gateway:
        (item,) = await gateway.quarantine()
        service_quarantine = gateway.service.state.episodes.quarantine
        for entry in item["databases"]["notes"]:
            getattr(service_quarantine, call)(entry)
        path = f"/v1/quarantine/{item['id']}"
        for expected in ({200, 204}, {404}):
            answer = await (gateway.http.delete(path) if call == "remove" else gateway.http.post(f"{path}/restore"))
            assert answer.status_code in expected, answer.text
        assert await gateway.quarantine() == []
    assert notes_in_databases(tmp_path / "notes", folder) == (set() if call == "remove" else {"one"})


@pytest.mark.parametrize("done", ["remove", "restore"])
async def test_an_item_whose_databases_are_deleted_is_not_restored_and_one_that_is_restored_in_part_is_not_deleted(
    open_kept: OpenGateway, kept: Path, done: str
) -> None:
    await quarantined_episode(open_kept, kept)
    async with open_kept() as gateway:
        (item,) = await gateway.quarantine()
        for entry in item["databases"]["notes"]:
            getattr(gateway.service.state.episodes.quarantine, done)(entry)
        path = f"/v1/quarantine/{item['id']}"
        answer = await (gateway.http.delete(path) if done == "restore" else gateway.http.post(f"{path}/restore"))
        assert problem(answer) == (409, "quarantine-conflict")
        assert await gateway.quarantine() == [item]


async def test_concurrent_deletions_of_an_item_delete_it_once(
    open_kept: OpenGateway, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await quarantined_episode(open_kept, kept)
    move_quarantined, both_began = ServiceClients.move_quarantined, asyncio.Barrier(2)

    async def move_once_both_began(
        clients: ServiceClients, service: str, entry: str, verb: Literal["restore", "remove"]
    ) -> None:
        await both_began.wait()
        await move_quarantined(clients, service, entry, verb)

    monkeypatch.setattr(ServiceClients, "move_quarantined", move_once_both_began)
    async with open_kept() as gateway:
        (item,) = await gateway.quarantine()
        deletions = [gateway.http.delete(f"/v1/quarantine/{item['id']}") for _ in range(2)]
        assert {answer.status_code for answer in await asyncio.gather(*deletions)} == {204, 404}


async def test_a_restore_that_was_killed_after_the_move_can_be_repeated(open_kept: OpenGateway, kept: Path) -> None:
    async with open_kept() as gateway:
        taken = await gateway.snapshot(await gateway.begin())
    truncate(path := kept / "gateway" / "snapshots" / f"{taken}.jsonl")
    async with open_kept() as gateway:
        (item,) = await gateway.quarantine()
        (kept / "gateway" / "quarantine" / item["id"] / path.name).rename(path)
        assert (await gateway.http.post(f"/v1/quarantine/{item['id']}/restore")).status_code == 200
    assert path.exists()


@pytest.mark.parametrize("names", [(), ("reason.tmp",)])
async def test_an_item_whose_reason_was_never_written_is_not_listed(
    open_kept: OpenGateway, kept: Path, names: tuple[str, ...]
) -> None:
    folder = await quarantined_episode(open_kept, kept)
    unfinished = kept / "gateway" / "quarantine" / folder
    unfinished.mkdir(parents=True)
    for name in names:
        (unfinished / name).write_bytes(b"torn")
    async with open_kept() as gateway:
        items = await gateway.quarantine()
        assert [(item["id"], item["internal_id"]) for item in items] == [(folder, folder)]


def databases(folder: Path) -> int:
    """Return the number of databases of epochs and snapshots in a service's folder."""
    return len([path for path in folder.rglob("*.db") if "templates" not in path.parts])


def notes_in_databases(folder: Path, episode: str) -> set[str]:
    """Return the notes in the databases of an episode, anywhere in a service's folder."""
    found = set()
    for path in folder.rglob("*.db"):
        if episode in path.parts:
            with sqlite3.connect(path) as db:
                found |= {text for (text,) in db.execute("select text from notes where text like 'o%'")}
    return found
