"""Garbage collection of snapshots: unreferenced databases are deleted, and forks do not accumulate files."""

from __future__ import annotations

from pathlib import Path

from tests.gateway.conftest import NotesGateway, OpenGateway, problem
from tests.gateway.sockets import connected


async def test_databases_shared_by_deleted_snapshots_and_a_live_episode_are_tracked_once(gateway: NotesGateway) -> None:
    episode = await gateway.begin()
    for _ in range(3):
        await gateway.step(episode, "wait", minutes=1)
        await gateway.http.delete(f"/v1/snapshots/{await gateway.snapshot(episode)}")
    assert not gateway.runtime.snapshots()._unreferenced


async def test_databases_of_a_failed_snapshot_are_deleted(open_kept: OpenGateway, kept: Path, tmp_path: Path) -> None:
    async with open_kept() as gateway:
        episode = await gateway.begin()
        first = await gateway.snapshot(episode)
        await gateway.step(episode, "notes_write_note", text="one")
        folder = kept / "gateway" / "snapshots"
        folder.rename(tmp_path / "away")
        refused = await gateway.http.post(f"/v1/episodes/{episode}/snapshots")
        (tmp_path / "away").rename(folder)
        assert problem(refused) == (507, "storage-full")
        assert (await gateway.http.delete(f"/v1/snapshots/{first}")).status_code == 204
        assert list((tmp_path / "notes" / "snapshots").glob("*.db")) == []
        assert "one" in await gateway.texts((await gateway.fork(await gateway.snapshot(episode)))[0])


async def test_a_socket_that_repeatedly_restores_a_snapshot_has_one_episode(
    open_gateway: OpenGateway,
) -> None:
    async with open_gateway(max_episodes=2) as gateway:
        other = await gateway.begin()
        taken = await gateway.snapshot(other)
        async with connected(gateway.app) as socket:
            for _ in range(4):
                begun = await socket.exchange(
                    {"type": "reset", "data": {"injected_state": {"snapshot": taken}, "episode_id": "mine"}}
                )
                assert begun["type"] == "observation"
            assert set(await gateway.live_ids()) == {other, "mine"}


async def test_a_restore_counts_despite_an_unknown_folder_next_to_the_journal(
    open_kept: OpenGateway, kept: Path
) -> None:
    async with open_kept() as gateway:
        episode = await gateway.begin()
        taken = await gateway.snapshot(episode)
        await gateway.step(episode, "notes_write_note", text="one")
        (next((kept / "gateway" / "episodes").iterdir()) / "strange").mkdir()
        assert (await gateway.restore(episode, taken)).status_code == 200
        await gateway.step(episode, "notes_write_note", text="two")
        state = await gateway.state(episode)
    async with open_kept() as gateway:
        assert await gateway.state(episode) == state


async def test_databases_that_only_a_recovered_episode_references_are_deleted_with_it(
    open_kept: OpenGateway, tmp_path: Path
) -> None:
    async with open_kept() as gateway:
        origin = await gateway.begin("one")
        taken = await gateway.snapshot(origin)
        forked = (await gateway.fork(taken))[0]
        await gateway.http.delete(f"/v1/snapshots/{taken}")
    async with open_kept() as gateway:
        assert "one" in await gateway.texts(forked)
        await gateway.http.delete(f"/v1/episodes/{forked}")
        await gateway.runtime.engine().store.aclose(keep_files=True)
        assert list((tmp_path / "notes" / "snapshots").glob("*.db")) == []


async def test_databases_of_an_episode_restored_from_quarantine_are_kept_until_the_next_start(
    open_kept: OpenGateway, kept: Path
) -> None:
    async with open_kept() as gateway:
        origin = await gateway.begin("one")
        taken = await gateway.snapshot(origin)
        forked, other = await gateway.fork(taken, count=2)
        await gateway.http.delete(f"/v1/snapshots/{taken}")
        folder = gateway.runtime.engine().store.get(forked).internal_id
    journal = kept / "gateway" / "episodes" / folder / "1.jsonl"
    content = journal.read_bytes()
    journal.write_bytes(content[:-10])
    async with open_kept() as gateway:
        (item,) = await gateway.quarantine()
        assert (await gateway.http.post(f"/v1/quarantine/{item['id']}/restore")).status_code == 200
        await gateway.http.delete(f"/v1/episodes/{other}")
        await gateway.runtime.engine().store.aclose(keep_files=True)
    journal.write_bytes(content)
    async with open_kept() as gateway:
        assert "one" in await gateway.texts(forked)
