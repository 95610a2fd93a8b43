"""An unusable folder of the gateway leads to a clear error, loses nothing, and work continues afterwards."""

from __future__ import annotations

import errno
import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from companyos_gateway.engine import episode_files
from companyos_gateway.engine.episode_files import EpisodeFiles
from companyos_gateway.engine.snapshot_files import compute_snapshot_id
from tests.gateway.conftest import NotesGateway, OpenGateway, problem


@contextmanager
def _in_the_way_of(folder: Path) -> Iterator[None]:
    """Replace a folder by a file, so that nothing below it can be written, read or deleted."""
    away = folder.with_name("away")
    folder.rename(away)
    folder.write_text("")
    try:
        yield
    finally:
        folder.unlink()
        away.rename(folder)


@contextmanager
def _no_descriptor_left() -> Iterator[None]:
    """Use up all file descriptors that this process may open."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.dup(0)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 2, hard))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.dup(0))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))
        for descriptor in taken:
            os.close(descriptor)


async def test_a_reset_without_free_descriptors_leaves_no_files(open_kept: OpenGateway, kept: Path) -> None:
    async with open_kept() as gateway:
        await gateway.reset(chaos=0)
        with _no_descriptor_left():
            refused = await gateway.http.post("/reset", json={"scenario": "note_keeping", "seed": 1, "chaos": 0})
        assert problem(refused) == (507, "storage-full")
        assert len(list((kept / "gateway" / "episodes").iterdir())) == 1


async def test_a_storage_error_rejects_the_request_and_a_later_one_succeeds(open_kept: OpenGateway, kept: Path) -> None:
    async with open_kept() as gateway:
        episode = await gateway.begin("one")
        taken = await gateway.snapshot(episode)
        with _in_the_way_of(kept / "gateway" / "episodes"):
            refused = [
                await gateway.http.post("/reset", json={"scenario": "note_keeping"}),
                await gateway.restore(episode, taken),
                await gateway.http.post(f"/v1/snapshots/{taken}/fork", json={}),
            ]
        await gateway.step(episode, "notes_write_note", text="two")
        with _in_the_way_of(kept / "gateway" / "snapshots"):
            refused += [
                await gateway.http.post(f"/v1/episodes/{episode}/snapshots"),
                await gateway.http.delete(f"/v1/snapshots/{taken}"),
            ]
        assert [problem(answer) for answer in refused] == [(507, "storage-full")] * 5
        assert [one["id"] for one in (await gateway.http.get("/v1/snapshots")).json()] == [taken]
        assert "two" in await gateway.texts(episode)
        assert "two" not in await gateway.texts((await gateway.fork(taken))[0])
        await gateway.snapshot(episode)


def _fail_to_write(path: Path, content: bytes, *, durable: bool = False) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def _begin_ended(gateway: NotesGateway, episode_id: str) -> None:
    await gateway.reset(episode_id=episode_id)
    await gateway.step(episode_id, "finish", outcome="done", summary="Done.")


async def test_a_storage_error_at_a_start_frees_no_ended_episode(
    open_gateway: OpenGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_gateway(max_episodes=2) as gateway:
        await _begin_ended(gateway, "a")
        taken = await gateway.snapshot("a")
        await _begin_ended(gateway, "b")
        requests = [
            ("/reset", {"scenario": "note_keeping", "episode_id": "a"}),
            ("/reset", {"scenario": "note_keeping", "episode_id": "c"}),
            ("/reset", {"injected_state": {"snapshot": taken}, "episode_id": "a"}),
            (f"/v1/snapshots/{taken}/fork", {"count": 2}),
        ]
        with monkeypatch.context() as patched:
            patched.setattr(episode_files, "write_file", _fail_to_write)
            refused = [await gateway.http.post(path, json=body) for path, body in requests]
        assert [problem(answer) for answer in refused] == [(507, "storage-full")] * 4
        assert set(await gateway.live_ids()) == {"a", "b"}
        for path, body in requests[:2]:
            assert (await gateway.http.post(path, json=body)).status_code == 200
        assert set(await gateway.live_ids()) == {"a", "c"}


async def test_a_fork_with_the_id_of_a_live_episode_frees_no_ended_one(open_gateway: OpenGateway) -> None:
    async with open_gateway(max_episodes=2) as gateway:
        await gateway.reset(episode_id="live")
        taken = await gateway.snapshot("live")
        await _begin_ended(gateway, "ended")
        body = {"injected_state": {"snapshot": taken}, "episode_id": "live"}
        assert problem(await gateway.http.post("/reset", json=body)) == (409, "episode-exists")
        assert set(await gateway.live_ids()) == {"live", "ended"}
        forked = await gateway.http.post("/reset", json={**body, "episode_id": "ended"})
        assert forked.status_code == 200
        assert set(await gateway.live_ids()) == {"live", "ended"}


def test_a_temporarily_unreadable_manifest_loses_no_episode(tmp_path: Path) -> None:
    files = EpisodeFiles(tmp_path)
    manifest = tmp_path / "episodes" / f"n1-{0:024}" / "manifest.json"
    manifest.parent.mkdir()
    manifest.symlink_to(manifest)
    with pytest.raises(OSError, match="symbolic links"):
        files.scan()
    assert manifest.is_symlink()


@pytest.mark.parametrize("sources", [{"notes": "../x"}, {"elsewhere": "0" * 64}, {}])
async def test_an_invalid_snapshot_is_rejected_and_does_not_prevent_a_start(
    open_kept: OpenGateway, kept: Path, sources: dict[str, str]
) -> None:
    async with open_kept() as gateway:
        taken = await gateway.snapshot(await gateway.begin())
    folder = kept / "gateway" / "snapshots"
    header, _, lines = (folder / f"{taken}.jsonl").read_bytes().partition(b"\n")
    content = json.loads(header)
    content["manifest"]["sources"] = sources
    foreign = json.dumps(content).encode() + b"\n" + lines
    name = compute_snapshot_id(foreign)
    (folder / f"{name}.jsonl").write_bytes(foreign)
    async with open_kept() as gateway:
        assert problem(await gateway.http.post(f"/v1/snapshots/{name}/fork", json={})) == (410, "snapshot-corrupt")
        assert len(await gateway.fork(taken)) == 1
