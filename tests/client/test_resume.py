"""A stopped run can be resumed: stored episodes are not played again, whatever the policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from companyos.contract import Outcome
from companyos.policies import Call, TaskView
from companyos.policies.llm import LlmPolicy
from companyos.policies.llm.stub import StubServer, error_reply
from companyos.runner import EpisodePlan, PlayedEpisode, play_all, read_records
from companyos.runner.run_writer import RunMismatchError
from tests.client.llm_scripts import ScriptedReplies, a_model, tool_call_message


def plans_of(*seeds: int, policy: str = "random") -> list[EpisodePlan]:
    return [EpisodePlan(scenario="tiny", seed=seed, chaos=1, policy=policy) for seed in seeds]


class StoppedError(Exception):
    pass


def stop_after(count: int) -> Any:
    """Return an observer that ends a run like Ctrl-C after that many episodes."""
    output: list[PlayedEpisode] = []

    def observe(played: PlayedEpisode) -> None:
        output.append(played)
        if len(output) == count:
            raise StoppedError

    return observe


def seeds_of(folder: Path) -> list[int | None]:
    return [record.seed for record in read_records(folder)]


async def test_a_resumed_run_equals_an_uninterrupted_one(tiny_url: str, tmp_path: Path) -> None:
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    await play_all(tiny_url, plans_of(*range(6)), out=whole, parallel=1)
    with pytest.raises(StoppedError):
        await play_all(tiny_url, plans_of(*range(6)), out=halved, parallel=1, on_played=stop_after(2))
    assert seeds_of(halved) == [0, 1]
    output: list[PlayedEpisode] = []
    played = await play_all(tiny_url, plans_of(*range(6)), out=halved, resume=True, on_played=output.append)
    assert [len(episode.steps) > 0 for episode in output[:2]] == [False, False]
    assert len(output) == 6
    assert [episode.record for episode in played] == read_records(whole)
    for name in ("episodes.jsonl", "trajectories/tiny-0-c1-random.jsonl", "run.json"):
        assert (halved / name).read_bytes() == (whole / name).read_bytes()


async def test_a_complete_run_is_not_changed(tiny_url: str, tmp_path: Path) -> None:
    await play_all(tiny_url, plans_of(1, 2), out=tmp_path / "run")
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "run").rglob("*")}
    await play_all(tiny_url, plans_of(1, 2), out=tmp_path / "run", resume=True)
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "run").rglob("*")} == before


async def test_a_run_can_be_extended_and_its_lines_stay_in_order(tiny_url: str, tmp_path: Path) -> None:
    await play_all(tiny_url, plans_of(4, 2), out=tmp_path / "run")
    await play_all(tiny_url, plans_of(1, 2, 3, 4), out=tmp_path / "run", resume=True)
    assert seeds_of(tmp_path / "run") == [1, 2, 3, 4]


async def test_an_episode_has_its_line_as_soon_as_it_is_over(tiny_url: str, tmp_path: Path) -> None:
    lines: list[int] = []
    file = tmp_path / "run" / "episodes.jsonl"
    await play_all(
        tiny_url,
        plans_of(1, 2, 3),
        out=tmp_path / "run",
        parallel=3,
        on_played=lambda _: lines.append(len(file.read_text().splitlines())),
    )
    assert lines == [1, 2, 3]


async def test_a_truncated_line_is_played_again(tiny_url: str, tmp_path: Path) -> None:
    file = tmp_path / "run" / "episodes.jsonl"
    await play_all(tiny_url, plans_of(1, 2), out=tmp_path / "run")
    whole = file.read_text()
    file.write_text(whole[:-40])
    await play_all(tiny_url, plans_of(1, 2), out=tmp_path / "run", resume=True)
    assert file.read_text() == whole


async def test_a_run_can_be_resumed_in_an_empty_folder(tiny_url: str, tmp_path: Path) -> None:
    await play_all(tiny_url, plans_of(1), out=tmp_path / "run", resume=True)
    assert seeds_of(tmp_path / "run") == [1]


async def test_another_run_is_not_resumed(tiny_url: str, tmp_path: Path) -> None:
    await play_all(tiny_url, plans_of(1, 2), out=tmp_path / "run")
    with pytest.raises(RunMismatchError, match="2 episodes of another run: seed 1 is not part of this one"):
        await play_all(tiny_url, plans_of(3), out=tmp_path / "run", resume=True)
    assert seeds_of(tmp_path / "run") == [1, 2]


async def test_a_run_of_another_model_is_not_resumed(tiny_url: str, tmp_path: Path) -> None:
    [plan] = plans_of(3, policy="llm")
    with StubServer(ScriptedReplies(tool_call_message(("finish", {})))) as stub:
        first, second = a_model(stub.url), a_model(stub.url, model="m-2")
        await play_all(tiny_url, [plan], out=tmp_path, make_policy=lambda _name: LlmPolicy(first))
        with pytest.raises(RunMismatchError, match='model of llm was "m-1", now it is "m-2"'):
            await play_all(tiny_url, [plan], out=tmp_path, make_policy=lambda _name: LlmPolicy(second), resume=True)
    described = json.loads((tmp_path / "run.json").read_text())
    assert described["policies"]["llm"]["model"] == "m-1"


class Quits:
    """Ends each episode at once."""

    name = "quits"

    async def play(self, task: TaskView, call: Call) -> None:
        await call("finish", {"outcome": "impossible", "summary": ""})


class QuitsDifferently(Quits):
    """Another class of the same name."""


async def test_a_run_of_another_class_is_not_resumed(tiny_url: str, tmp_path: Path) -> None:
    [plan] = plans_of(3, policy="quits")
    await play_all(tiny_url, [plan], out=tmp_path, make_policy=lambda _name: Quits())
    with pytest.raises(RunMismatchError, match=r'class of quits was ".*:Quits", now it is ".*:QuitsDifferently"'):
        await play_all(tiny_url, [plan], out=tmp_path, make_policy=lambda _name: QuitsDifferently(), resume=True)


async def test_a_run_of_another_version_is_not_resumed(tiny_url: str, tmp_path: Path) -> None:
    await play_all(tiny_url, plans_of(1), out=tmp_path)
    described = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(described | {"companyos": "0.0.0"}))
    with pytest.raises(RunMismatchError, match=r"a run of companyos 0\.0\.0; this is"):
        await play_all(tiny_url, plans_of(1, 2), out=tmp_path, resume=True)
    assert seeds_of(tmp_path) == [1]


async def test_an_episode_with_an_endpoint_error_is_kept_and_not_played_again(tiny_url: str, tmp_path: Path) -> None:
    plans = plans_of(5, 3, policy="llm")
    with StubServer(
        ScriptedReplies(
            tool_call_message(("add", {"amount": 3})),
            error_reply(400, "No."),
            tool_call_message(("add", {"amount": 3})),
        )
    ) as stub:
        model = a_model(stub.url)
        await play_all(tiny_url, plans[:1], out=tmp_path, make_policy=lambda _name: LlmPolicy(model))
        episodes = await play_all(
            tiny_url, plans, out=tmp_path, resume=True, make_policy=lambda _name: LlmPolicy(model)
        )
    assert len(stub.received) == 3
    assert [episode.record.outcome for episode in episodes] == [Outcome.INFRA_ERROR, Outcome.SUCCESS]
    assert "the endpoint returned 400" in str(episodes[0].trouble)


async def test_messages_of_a_model_are_stored_in_the_run_folder(tiny_url: str, tmp_path: Path) -> None:
    [plan] = plans_of(3, policy="llm")
    with StubServer(ScriptedReplies(tool_call_message(("add", {"amount": 3})))) as stub:
        model = a_model(stub.url)
        [episode] = await play_all(tiny_url, [plan], out=tmp_path, make_policy=lambda _name: LlmPolicy(model))
    lines = (tmp_path / "messages" / "tiny-3-c1-llm.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == list(episode.messages)
    assert {entry.name for entry in tmp_path.iterdir()} == {
        "run.json",
        "episodes.jsonl",
        "trajectories",
        "evidence",
        "messages",
    }


class Unused:
    name = "random"

    async def play(self, task: TaskView, call: Call) -> None:
        raise AssertionError("this was played before")


async def test_no_policy_is_created_for_episodes_that_were_played_before(tiny_url: str, tmp_path: Path) -> None:
    await play_all(tiny_url, plans_of(1, 2), out=tmp_path)
    before = read_records(tmp_path)
    await play_all(tiny_url, plans_of(1, 2), out=tmp_path, resume=True, make_policy=lambda _name: Unused())
    assert read_records(tmp_path) == before
