"""Snapshots, restores and forks: an episode continues from its state at the snapshot, including pending events."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import NotesGateway, OpenGateway, problem
from tests.gateway.sockets import connected
from tests.gateway.transports import CallRecorder


async def test_a_restored_episode_has_the_state_of_its_snapshot(gateway: NotesGateway) -> None:
    episode = await gateway.begin("before")
    before, taken = await gateway.state(episode), await gateway.snapshot(episode)
    await gateway.step(episode, "notes_write_note", text="after")
    answer = await gateway.restore(episode, taken)
    assert answer.status_code == 200
    assert answer.json() == {**before, "epoch": 2}
    assert "after" not in await gateway.texts(episode)
    assert "before" in await gateway.texts(episode)


async def test_a_fork_continues_exactly_like_its_origin(gateway: NotesGateway) -> None:
    origin = await gateway.begin("before", chaos=0)
    await gateway.step(origin, "wait", until="next_working_morning")
    forks = await gateway.fork(await gateway.snapshot(origin), 3)
    actions: list[tuple[str, dict[str, Any]]] = [
        ("notes_list_notes", {}),
        ("notes_finish_note", {"note_id": 1}),
        ("notes_finish_note", {"note_id": 1}),
        ("notes_nothing", {}),
        ("wait", {"minutes": 500}),
        ("finish", {"outcome": "done", "summary": "Done."}),
    ]
    played = [
        [await gateway.step(episode, tool, **arguments) for tool, arguments in actions] for episode in (origin, *forks)
    ]
    assert all(answers == played[0] for answers in played)
    output = [await gateway.evidence(episode) for episode in (origin, *forks)]
    assert all(one == output[0] for one in output)


async def test_forks_are_isolated(gateway: NotesGateway) -> None:
    origin = await gateway.begin("before")
    first, second = await gateway.fork(await gateway.snapshot(origin), 2)
    await gateway.step(first, "notes_write_note", text="first")
    await gateway.step(second, "notes_write_note", text="second")
    assert [text for text in await gateway.texts(first) if text in ("before", "first", "second")] == [
        "before",
        "first",
    ]
    assert [text for text in await gateway.texts(second) if text in ("before", "first", "second")] == [
        "before",
        "second",
    ]
    assert "first" not in await gateway.texts(origin)


async def test_a_snapshot_of_an_untouched_episode_calls_no_service(open_gateway: OpenGateway) -> None:
    recorder = CallRecorder()
    async with open_gateway(wrap=recorder.wrap) as gateway:
        episode = await gateway.begin()
        recorder.paths.clear()
        (forked,) = await gateway.fork(await gateway.snapshot(episode))
        assert recorder.paths == []
        assert await gateway.texts(forked) == await gateway.texts(episode)


async def test_an_unchanged_database_is_not_copied_again(gateway: NotesGateway, tmp_path: Path) -> None:
    episode = await gateway.begin("before")
    first = await gateway.snapshot(episode)
    await gateway.step(episode, "notes_list_notes")
    second = await gateway.snapshot(episode)
    assert first != second
    assert len(list(tmp_path.rglob("snapshots/*.db"))) == 1
    await gateway.http.delete(f"/v1/snapshots/{first}")
    assert "before" in await gateway.texts((await gateway.fork(second))[0])
    await gateway.http.delete(f"/v1/snapshots/{second}")
    third = await gateway.snapshot(episode)
    assert "before" in await gateway.texts((await gateway.fork(third))[0])


async def test_an_ended_episode_can_be_restored(gateway: NotesGateway) -> None:
    episode = await gateway.begin()
    taken = await gateway.snapshot(episode)
    await gateway.step(episode, "finish", outcome="impossible", summary="No.")
    assert (await gateway.restore(episode, taken)).json()["done"] is False
    assert (await gateway.step(episode, "notes_list_notes"))["done"] is False


async def test_a_snapshot_of_another_reset_is_rejected_as_foreign(gateway: NotesGateway) -> None:
    episode, other = [await gateway.begin() for _ in range(2)]
    answer = await gateway.restore(episode, await gateway.snapshot(other))
    assert problem(answer) == (409, "foreign-snapshot")
    assert answer.json()["detail"].startswith("The snapshot belongs to another episode. ")
    forked = (await gateway.fork(await gateway.snapshot(episode)))[0]
    assert (await gateway.restore(forked, await gateway.snapshot(episode))).status_code == 200


async def test_a_reset_can_start_from_a_snapshot(gateway: NotesGateway) -> None:
    origin = await gateway.begin("before")
    output = await gateway.http.get("/render", params={"episode_id": origin, "format": "json"})
    state = {"snapshot": await gateway.snapshot(origin)}
    body = (await gateway.http.post("/reset", json={"injected_state": state, "episode_id": "mine"})).json()
    assert body["episode_id"] == "mine"
    assert body["observation"]["result"]["text"] == "before"
    rendered = await gateway.http.get("/render", params={"episode_id": "mine", "format": "json"})
    assert rendered.json() == {**output.json(), "episode_id": "mine"}


async def test_a_resume_continues_an_episode_and_takes_it_from_the_previous_session(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as first:
        await first.reset()
        output = await first.step("notes_list_notes")
        token = (await first.state())["token"]
        async with connected(gateway.app) as second:
            resumed = await second.exchange({"type": "reset", "data": {"resume": token}})
            assert resumed["data"]["observation"] == output["data"]["observation"]
            refused = await first.step("notes_list_notes")
            assert refused["data"]["message"].startswith("episode-taken-over")
            again = await second.step("notes_list_notes")
            assert again["data"]["observation"]["steps_left"] == output["data"]["observation"]["steps_left"] - 1


async def test_an_unknown_token_cannot_resume(gateway: NotesGateway) -> None:
    assert problem(await gateway.http.post("/reset", json={"resume": "x" * 43})) == (404, "unknown-episode")


@pytest.mark.parametrize("body", [{"resume": "x", "seed": 1}, {"injected_state": {"snapshot": "0" * 32}, "chaos": 1}])
async def test_a_resume_accepts_no_other_options(gateway: NotesGateway, body: dict[str, Any]) -> None:
    assert problem(await gateway.http.post("/reset", json=body)) == (422, "invalid-reset")


async def test_snapshots_are_listed_and_deleted(gateway: NotesGateway, tmp_path: Path) -> None:
    episode = await gateway.begin("before")
    taken = await gateway.snapshot(episode)
    listed = (await gateway.http.get("/v1/snapshots")).json()
    assert [(one["id"], one["episode_id"], one["step"]) for one in listed] == [(taken, episode, 1)]
    assert (await gateway.http.get(f"/v1/snapshots/{taken}")).json() == listed[0]
    kept = list(tmp_path.rglob("snapshots/*.db"))
    assert len(kept) == 1
    forked = (await gateway.fork(taken))[0]
    assert (await gateway.http.delete(f"/v1/snapshots/{taken}")).status_code == 204
    assert (await gateway.http.get("/v1/snapshots")).json() == []
    assert "before" in await gateway.texts(forked), "a fork outlives its snapshot"
    assert (await gateway.http.delete(f"/v1/snapshots/{taken}")).status_code == 404
    second = await gateway.snapshot(episode)
    assert (await gateway.http.delete(f"/v1/episodes/{forked}")).status_code == 204
    assert (await gateway.http.delete(f"/v1/snapshots/{second}")).status_code == 204
    assert list(tmp_path.rglob("snapshots/*.db")) == []


async def test_a_database_that_only_a_fork_references_is_deleted_with_the_fork(
    gateway: NotesGateway, tmp_path: Path
) -> None:
    episode = await gateway.begin("before")
    taken = await gateway.snapshot(episode)
    (forked,) = await gateway.fork(taken)
    assert (await gateway.http.delete(f"/v1/snapshots/{taken}")).status_code == 204
    assert len(list(tmp_path.rglob("snapshots/*.db"))) == 1
    assert (await gateway.http.delete(f"/v1/episodes/{forked}")).status_code == 204
    async with asyncio.timeout(5):
        while list(tmp_path.rglob("snapshots/*.db")):  # noqa: ASYNC110 - a service deletes it
            await asyncio.sleep(0.01)


async def test_the_difference_between_two_steps_is_listed_row_by_row(gateway: NotesGateway) -> None:
    episode = await gateway.begin("one")
    await gateway.step(episode, "notes_finish_note", note_id=1)
    whole = (await gateway.http.get(f"/v1/episodes/{episode}/diff")).json()
    rows = whole["services"]["notes"]["notes"]
    assert (whole["from"], whole["to"], len(rows)) == (0, 2, 2)
    assert rows["1"]["before"]["done_at"] is None
    assert rows["1"]["after"]["done_at"] is not None
    later = (await gateway.http.get(f"/v1/episodes/{episode}/diff", params={"from": 1})).json()
    assert list(later["services"]["notes"]["notes"]) == ["1"]
    refused = await gateway.http.get(f"/v1/episodes/{episode}/diff", params={"from": 2, "to": 1})
    assert problem(refused) == (422, "invalid-step")


async def test_a_database_can_be_downloaded(gateway: NotesGateway, tmp_path: Path) -> None:
    episode = await gateway.begin("canary")
    answer = await gateway.http.get(f"/v1/episodes/{episode}/databases/notes")
    assert answer.headers["content-type"] == "application/vnd.sqlite3"
    copied = tmp_path / "copied.db"
    copied.write_bytes(answer.content)
    with sqlite3.connect(copied) as db:
        assert db.execute("SELECT count(*) FROM notes WHERE text = 'canary'").fetchone() == (1,)
    assert problem(await gateway.http.get(f"/v1/episodes/{episode}/databases/elsewhere")) == (404, "unknown-service")


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda path: path.unlink(), "snapshot-lost"),
        (lambda path: path.write_bytes(path.read_bytes()[:-4096]), "snapshot-corrupt"),
        (lambda path: path.write_bytes(b"\x01" + path.read_bytes()[1:]), "snapshot-corrupt"),
    ],
)
async def test_a_snapshot_with_a_damaged_database_is_rejected_and_the_episode_continues(
    gateway: NotesGateway, tmp_path: Path, damage: Any, code: str
) -> None:
    episode = await gateway.begin("before")
    taken = await gateway.snapshot(episode)
    await gateway.step(episode, "notes_write_note", text="after")
    state = await gateway.state(episode)
    for path in tmp_path.rglob("snapshots/*.db"):
        damage(path)
    for answer in (
        await gateway.restore(episode, taken),
        await gateway.http.post(f"/v1/snapshots/{taken}/fork", json={}),
    ):
        assert problem(answer) == (410, code)
    assert await gateway.state(episode) == state
    assert "after" in await gateway.texts(episode)


@pytest.mark.parametrize("cut", [1, 200])
async def test_a_truncated_snapshot_file_is_rejected(open_kept: OpenGateway, kept: Path, cut: int) -> None:
    async with open_kept() as gateway:
        episode = await gateway.begin("before")
        taken = await gateway.snapshot(episode)
        path = kept / "gateway" / "snapshots" / f"{taken}.jsonl"
        path.write_bytes(path.read_bytes()[:-cut])
        assert problem(await gateway.restore(episode, taken)) == (410, "snapshot-corrupt")
        assert "before" in await gateway.texts(episode)


async def test_forks_beyond_the_capacity_are_rejected_and_none_is_created(open_gateway: OpenGateway) -> None:
    async with open_gateway(max_episodes=3) as gateway:
        episode = await gateway.begin()
        taken = await gateway.snapshot(episode)
        answer = await gateway.http.post(f"/v1/snapshots/{taken}/fork", json={"count": 3})
        assert problem(answer) == (503, "at-capacity")
        assert await gateway.live_ids() == [episode]
