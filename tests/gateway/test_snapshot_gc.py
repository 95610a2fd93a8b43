"""What snapshots leave behind: databases that nothing names go, and beginnings from snapshots do not pile up."""

from __future__ import annotations

from pathlib import Path

from tests.gateway.conftest import Door, Open
from tests.gateway.sockets import connected
from tests.gateway.test_snapshots import fork, restore, snapshot, texts


async def test_what_deleted_snapshots_shared_with_a_living_episode_is_remembered_once(door: Door) -> None:
    episode = (await door.reset())["episode_id"]
    for _ in range(3):
        await door.step(episode, "wait", minutes=1)
        await door.http.delete(f"/v1/snapshots/{await snapshot(door, episode)}")
    assert not door.house.snapshots()._unreferenced


async def test_databases_that_were_kept_for_no_snapshot_are_forgotten(open_door: Open, tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path / "kept") as door:
        episode = (await door.reset())["episode_id"]
        first = await snapshot(door, episode)
        await door.step(episode, "notes_write_note", text="one")
        folder = tmp_path / "kept" / "gateway" / "snapshots"
        folder.rename(tmp_path / "away")
        refused = await door.http.post(f"/v1/episodes/{episode}/snapshots")
        (tmp_path / "away").rename(folder)
        assert (refused.status_code, refused.json()["code"]) == (507, "storage-full")
        assert (await door.http.delete(f"/v1/snapshots/{first}")).status_code == 204
        assert list((tmp_path / "notes" / "snapshots").glob("*.db")) == []
        assert "one" in await texts(door, (await fork(door, await snapshot(door, episode)))[0])


async def test_a_socket_that_begins_from_a_snapshot_again_and_again_holds_one_episode(open_door: Open) -> None:
    async with open_door(max_episodes=2) as door:
        other = (await door.reset())["episode_id"]
        taken = await snapshot(door, other)
        async with connected(door.app) as socket:
            for _ in range(4):
                begun = await socket.ask(
                    {"type": "reset", "data": {"injected_state": {"snapshot": taken}, "episode_id": "mine"}}
                )
                assert begun["type"] == "observation"
            assert {state["episode_id"] for state in (await door.http.get("/v1/episodes")).json()} == {other, "mine"}


async def test_a_restore_counts_though_something_strange_lies_beside_the_journal(
    open_door: Open, tmp_path: Path
) -> None:
    async with open_door(data_dir=tmp_path / "kept") as door:
        episode = (await door.reset())["episode_id"]
        taken = await snapshot(door, episode)
        await door.step(episode, "notes_write_note", text="one")
        (next((tmp_path / "kept" / "gateway" / "episodes").iterdir()) / "strange").mkdir()
        assert (await restore(door, episode, taken)).status_code == 200
        await door.step(episode, "notes_write_note", text="two")
        state = await door.state(episode)
    async with open_door(data_dir=tmp_path / "kept") as door:
        assert await door.state(episode) == state


async def test_what_only_a_found_episode_names_goes_with_it(open_door: Open, tmp_path: Path) -> None:
    async with open_door(data_dir=tmp_path / "kept") as door:
        origin = (await door.reset())["episode_id"]
        await door.step(origin, "notes_write_note", text="one")
        taken = await snapshot(door, origin)
        forked = (await fork(door, taken))[0]
        await door.http.delete(f"/v1/snapshots/{taken}")
    async with open_door(data_dir=tmp_path / "kept") as door:
        assert "one" in await texts(door, forked)
        await door.http.delete(f"/v1/episodes/{forked}")
        await door.house.engine().store.aclose(keep_files=True)
        assert list((tmp_path / "notes" / "snapshots").glob("*.db")) == []
