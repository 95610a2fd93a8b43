"""A restarted gateway restores its episodes from manifests and journals alone."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from companyos.contract import DEFAULT_SCENARIO
from companyos_gateway.engine import snapshot_files
from companyos_gateway.engine.snapshot_files import SnapshotFiles
from companyos_gateway.evaluation import Evidence
from companyos_gateway.scenarios import Instance
from companyos_shared.wire.context import Fault, FaultKind
from tests.gateway.conftest import NotesGateway, OpenGateway, problem
from tests.gateway.notes import NoteKeeping, rubric
from tests.gateway.transports import Held


async def test_an_episode_is_recovered_unchanged(open_kept: OpenGateway) -> None:
    async with open_kept() as gateway:
        episode = await gateway.begin()
        for tool, arguments in _SOME_STEPS:
            await gateway.step(episode, tool, **arguments)
        state, output = await gateway.state(episode), await gateway.evidence(episode)
    async with open_kept() as gateway:
        assert await gateway.state(episode) == state
        assert await gateway.evidence(episode) == output
        repeated = await gateway.post_step(episode, "notes_list_notes", step=4)
        assert repeated.status_code == 200
        ended = await gateway.step(episode, "finish", outcome="done", summary="Done.")
        assert (ended["done"], (await gateway.state(episode))["outcome"]) == (True, "failed")


async def test_the_evidence_of_a_temporary_error_is_recovered_unchanged(open_kept: OpenGateway) -> None:
    fault = Fault(kind=FaultKind.RATE_LIMITED, retry_after_s=7)
    scenario = NoteKeeping(faults={("list_notes", 1): fault})
    async with open_kept(scenario) as gateway:
        episode = await gateway.begin()
        limited = await gateway.step(episode, "notes_list_notes")
        assert limited["observation"]["result"]["retry_after_s"] == 7
        output = await gateway.evidence(episode)
    async with open_kept(scenario) as gateway:
        assert await gateway.evidence(episode) == output


async def test_an_interrupted_step_is_completed_once(open_kept: OpenGateway) -> None:
    held = Held()
    async with open_kept(wrap=held.wrap) as gateway:
        episode = await gateway.begin("one")
        held.released.clear()
        cut_off = asyncio.create_task(gateway.post_step(episode, "notes_write_note", step=2, text="two"))
        await held.arrived.wait()
        await _kill(gateway, cut_off)
    async with open_kept() as gateway:
        assert (await gateway.state(episode))["step_count"] == 2
        answer = (await gateway.post_step(episode, "notes_write_note", step=2, text="two")).json()
        assert answer["observation"]["result"]["text"] == "two"
        assert (await gateway.texts(episode)).count("two") == 1


async def test_a_truncated_line_at_the_end_of_a_journal_is_removed(open_kept: OpenGateway, kept: Path) -> None:
    async with open_kept() as gateway:
        episode = await gateway.begin("one")
    journal = next((kept / "gateway" / "episodes").rglob("*.jsonl"))
    with journal.open("ab") as file:
        file.write(b'{"intent": {"step": 2, "to')
    async with open_kept() as gateway:
        assert (await gateway.state(episode))["step_count"] == 1
        await gateway.step(episode, "notes_write_note", text="two")
    async with open_kept() as gateway:
        assert (await gateway.state(episode))["step_count"] == 2


async def test_a_journal_that_lacks_writes_of_a_service_is_quarantined(open_kept: OpenGateway, kept: Path) -> None:
    async with open_kept() as gateway:
        episode = await gateway.begin()
        (journal,) = (kept / "gateway" / "episodes").rglob("*.jsonl")
        synced = journal.read_bytes()
        await gateway.step(episode, "notes_write_note", text="one")
    journal.write_bytes(synced)
    async with open_kept() as gateway:
        assert await gateway.live_ids() == []
        (item,) = await gateway.quarantine()
        assert (item["id"], item["reason"]) == (journal.parent.name, "database-mismatch")


@dataclass(frozen=True)
class ChangedScenario(NoteKeeping):
    """Scenario that raises exceptions for the first seed, of which its earlier version planned tasks."""

    defect: str = ""

    def plan(self, seed_: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        instance = super().plan(seed_, chaos, overrides)
        if seed_ != 1:
            return instance
        if self.defect == "plan":
            raise KeyError("a bug")
        if self.defect == "documents":
            return replace(instance, documents={})
        return replace(instance, rubric=rubric().with_checks([], _fail_after_a_note, lambda _evidence, _finish: None))


def _fail_after_a_note(evidence: Evidence) -> list[str]:
    if evidence.agent_changes():
        raise KeyError("a bug")
    return []


@pytest.mark.parametrize(
    ("defect", "detail"),
    [
        ("plan", "the task cannot be planned: KeyError: 'a bug'"),
        ("documents", "the task cannot be planned: RuntimeError: The scenario note_keeping planned no seed documents."),
        ("rubric", "the steps cannot be judged: KeyError: 'a bug'"),
    ],
)
async def test_an_exception_of_a_changed_scenario_quarantines_only_its_own_episode(
    open_kept: OpenGateway, caplog: pytest.LogCaptureFixture, defect: str, detail: str
) -> None:
    async with open_kept() as gateway:
        changed, other = [await gateway.begin("one", seed=seed) for seed in (1, 2)]
    async with open_kept(ChangedScenario(defect=defect)) as gateway:
        assert await gateway.live_ids() == [other]
        (item,) = await gateway.quarantine()
        assert (item["episode_id"], item["reason"], item["detail"]) == (changed, "task-changed", detail)
    (logged,) = (record for record in caplog.records if record.exc_info)
    assert logged.name == "companyos_gateway.engine.recovery"


async def test_either_all_forks_of_a_batch_are_recovered_or_none(open_kept: OpenGateway, kept: Path) -> None:
    async with open_kept() as gateway:
        episode = await gateway.begin()
        taken = await gateway.snapshot(episode)
        whole, cut_off = await gateway.fork(taken, 2), await gateway.fork(taken, 3)
    paths = (kept / "gateway" / "episodes").glob("*/manifest.json")
    manifests = [json.loads(path.read_text())["manifest"] for path in paths]
    (batch,) = {manifest["batch"] for manifest in manifests if manifest["id"] in cut_off}
    notes = kept / "gateway" / "unfinished"
    assert not list(notes.iterdir())
    (notes / batch).touch()
    async with open_kept() as gateway:
        assert set(await gateway.live_ids()) == {episode, *whole}
        assert not list(notes.iterdir())


async def test_an_episode_that_replaced_an_ended_one_just_before_a_crash_is_recovered(
    open_kept: OpenGateway, kept: Path, tmp_path: Path
) -> None:
    aside = tmp_path / "aside"
    folders, labels = kept / "gateway" / "episodes", [f"run-{number}" for number in range(6)]
    async with open_kept() as gateway:
        for label in labels:
            await gateway.begin("old", episode_id=label)
            await gateway.step(label, "finish", outcome="done", summary="Done.")
        shutil.copytree(folders, aside)
        for label in labels:
            await gateway.begin(episode_id=label)
    shutil.copytree(aside, folders, dirs_exist_ok=True)
    async with open_kept() as gateway:
        steps = {one["episode_id"]: one["step_count"] for one in (await gateway.http.get("/v1/episodes")).json()}
        assert steps == dict.fromkeys(labels, 0)
        items = await gateway.quarantine()
        assert [(one["kind"], one["reason"]) for one in items] == [("episode", "duplicate-id")] * len(labels)


async def test_unreferenced_data_in_services_is_quarantined(open_kept: OpenGateway, kept: Path, tmp_path: Path) -> None:
    async with open_kept() as gateway:
        lost, found = [await gateway.begin() for _ in range(2)]
        for episode in (lost, found):
            await gateway.step(episode, "notes_write_note", text="one")
        taken = [await gateway.snapshot(episode) for episode in (lost, found)]
        folder = gateway.runtime.engine().store.get(lost).internal_id
    shutil.rmtree(kept / "gateway" / "episodes" / folder)
    (kept / "gateway" / "snapshots" / f"{taken[0]}.jsonl").unlink()
    async with open_kept() as gateway:
        assert await gateway.live_ids() == [found]
        (item,) = await gateway.quarantine()
        assert (item["kind"], item["reason"], len(item["databases"]["notes"])) == ("databases", "unknown-owner", 2)
        assert not (tmp_path / "notes" / "episodes" / folder).exists()
        assert len(list((tmp_path / "notes" / "snapshots").glob("*.db"))) == 1
        assert "one" in await gateway.texts((await gateway.fork(taken[1]))[0])
        assert (await gateway.http.delete(f"/v1/quarantine/{item['id']}")).status_code == 204
    assert list((tmp_path / "notes" / "quarantine").iterdir()) == []


@pytest.mark.parametrize("epoch", [1, 2])
async def test_an_interrupted_drop_is_completed(open_kept: OpenGateway, kept: Path, tmp_path: Path, epoch: int) -> None:
    async with open_kept() as gateway:
        episode = await gateway.begin("one")
        taken = await gateway.snapshot(episode)
        if epoch > 1:
            assert (await gateway.restore(episode, taken)).is_success
        folder = gateway.runtime.engine().store.get(episode).internal_id
    episodes, snapshots = kept / "gateway" / "episodes", kept / "gateway" / "snapshots"
    (episodes / folder).rename(episodes / f".ended-{folder}")
    (snapshots / f"{taken}.jsonl").rename(snapshots / f"{taken}.ended")
    async with open_kept() as gateway:
        assert await gateway.live_ids() == []
        assert await gateway.quarantine() == []
    assert [*episodes.iterdir(), *snapshots.iterdir()] == []
    assert [path for path in tmp_path.rglob("*.db*") if "templates" not in path.parts] == []


async def test_an_interrupted_snapshot_leaves_no_files(
    open_kept: OpenGateway, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_self: SnapshotFiles, _content: bytes) -> str:
        raise KeyboardInterrupt

    async with open_kept() as gateway:
        episode = await gateway.begin("one")
        monkeypatch.setattr(SnapshotFiles, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            await gateway.runtime.snapshots().take(gateway.runtime.engine().store.get(episode))
        assert len(list((tmp_path / "notes" / "snapshots").glob("*.db"))) == 1
    async with open_kept() as gateway:
        assert "one" in await gateway.texts(episode)
        assert await gateway.quarantine() == []
    assert list((tmp_path / "notes" / "snapshots").glob("*.db")) == []
    assert list((kept / "gateway" / "snapshots").iterdir()) == []


async def test_a_truncated_snapshot_note_leaves_no_files(
    open_kept: OpenGateway, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(path: Path, content: bytes) -> None:
        path.write_bytes(content[:5])
        raise KeyboardInterrupt

    async with open_kept() as gateway:
        episode = await gateway.begin()
        monkeypatch.setattr(snapshot_files, "write_file", cut_off)
        with pytest.raises(KeyboardInterrupt):
            await gateway.runtime.snapshots().take(gateway.runtime.engine().store.get(episode))
    async with open_kept():
        assert list((kept / "gateway" / "snapshots").iterdir()) == []


async def test_without_a_data_folder_no_files_are_left(open_gateway: OpenGateway, tmp_path: Path) -> None:
    async with open_gateway() as gateway:
        episode = await gateway.begin("one")
        await gateway.snapshot(episode)
    assert [*(tmp_path / "notes" / "episodes").iterdir(), *(tmp_path / "notes" / "snapshots").iterdir()] == []


async def test_a_kept_episode_is_available_after_every_start_and_never_idle(open_kept: OpenGateway) -> None:
    settings: dict[str, Any] = {"keep_episode": "main", "idle_limit_s": 0.01}
    settings["names"] = ("note_keeping", DEFAULT_SCENARIO)
    async with open_kept(**settings) as gateway:
        await gateway.step("main", "notes_write_note", text="one")
        await asyncio.sleep(0.05)
        assert gateway.runtime.engine().store.reap() == 0
    async with open_kept(**settings) as gateway:
        assert "one" in await gateway.texts("main")
        assert problem(await gateway.http.delete("/v1/episodes/main")) == (409, "episode-kept")
        shown = await gateway.http.post("/console/-/end", data={"episode_id": "main"})
        assert shown.status_code == 409
        assert "one" in await gateway.texts("main")


async def test_a_step_whose_client_disconnects_is_still_taken(gateway: NotesGateway) -> None:
    episode = await gateway.begin()
    engine = gateway.runtime.engine()
    waiting = asyncio.create_task(engine.step(engine.store.get(episode), "notes_write_note", {"text": "one"}, number=1))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    answer = (await gateway.post_step(episode, "notes_write_note", step=1, text="one")).json()
    assert answer["observation"]["result"]["text"] == "one"
    assert (await gateway.texts(episode)).count("one") == 1


async def test_a_resume_during_a_step_returns_its_result(open_gateway: OpenGateway) -> None:
    held = Held()
    async with open_gateway(wrap=held.wrap) as gateway:
        begun = await gateway.reset()
        await gateway.step(begun["episode_id"], "notes_list_notes")
        held.released.clear()
        step = asyncio.create_task(gateway.post_step(begun["episode_id"], "notes_write_note", text="one"))
        await held.arrived.wait()
        resumed = asyncio.create_task(gateway.http.post("/reset", json={"resume": begun["token"]}))
        await asyncio.sleep(0.05)
        held.released.set()
        output = (await resumed).json()
        assert output["observation"] == (await step).json()["observation"]
        assert output["observation"]["result"]["text"] == "one"


_SOME_STEPS: list[tuple[str, dict[str, Any]]] = [
    ("notes_write_note", {"text": "one"}),
    ("notes_finish_note", {"note_id": 1}),
    ("wait", {"minutes": 600}),
    ("notes_list_notes", {}),
]


async def _kill(gateway: NotesGateway, waiting: asyncio.Task[Any]) -> None:
    """Cancel all running steps midway, as in a killed process."""
    running = list(gateway.runtime.engine()._step_tasks)
    for task in (*running, waiting):
        task.cancel()
    await asyncio.gather(*running, waiting, return_exceptions=True)
