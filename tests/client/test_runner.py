"""The runner: every episode is kept, in order, including broken ones."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from companyos.client import CompanyOSEnv
from companyos.contract import Outcome
from companyos.policies import Call, EpisodeOverError, TaskView, UnknownPolicyError
from companyos.runner import EpisodePlan, play_all, play_episode, read_records
from companyos.runner.episode import ResetRejectedError
from companyos.runner.run_writer import RunExistsError, RunFolder, RunMismatchError
from companyos.viewer.stored_run import StoredRun
from companyos_shared.streams import digest


def a_plan(seed: int = 3, policy: str = "random", scenario: str = "tiny") -> EpisodePlan:
    return EpisodePlan(scenario=scenario, seed=seed, chaos=1, policy=policy)


class Scripted:
    name = "scripted"

    def __init__(self, *calls: tuple[str, dict[str, Any]], error: Exception | None = None) -> None:
        self._calls = calls
        self._error = error

    async def play(self, task: TaskView, call: Call) -> None:
        for tool, arguments in self._calls:
            await call(tool, arguments)
        if self._error is not None:
            raise self._error


ADD_1, ADD_2 = ("add", {"amount": 1}), ("add", {"amount": 2})


async def test_changes_of_a_policy_to_responses_or_arguments_are_not_recorded(tiny_url: str) -> None:
    class MutatingPolicy:
        name = "scribbling"

        async def play(self, task: TaskView, call: Call) -> None:
            arguments = {"amount": 1}
            view = await call("add", arguments)
            view.result["total"] = "scribbled over"
            arguments["amount"] = 99

    async with CompanyOSEnv(base_url=tiny_url) as env:
        played = await play_episode(env, a_plan(), MutatingPolicy())
    assert (played.steps[0].arguments, played.steps[0].result) == ({"amount": 1}, {"total": 1})


async def test_a_cancelled_episode_leaves_no_step_behind(tiny_url: str) -> None:
    playing: asyncio.Task[Any]

    class CancelledPolicy:
        name = "cancelled"

        async def play(self, task: TaskView, call: Call) -> None:
            step = asyncio.ensure_future(call("add", {"amount": 1}))
            await asyncio.sleep(0)  # the step has started and waits for the lock of the connection
            await asyncio.sleep(0)
            playing.cancel()
            await step

    async with CompanyOSEnv(base_url=tiny_url) as env:
        earlier = asyncio.all_tasks()
        playing = asyncio.ensure_future(play_episode(env, a_plan(), CancelledPolicy()))
        await asyncio.wait([playing])
        assert playing.cancelled()
        assert not [task for task in asyncio.all_tasks() - earlier if "take_step" in repr(task.get_coro())]


async def test_an_episode_is_recorded_from_the_state_and_the_observations(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        played = await play_episode(env, a_plan(), Scripted(ADD_1, ("fly", {}), ADD_2))
    record = played.record
    assert (record.success, record.outcome, record.steps) == (True, Outcome.SUCCESS, 3)
    assert record.return_ == pytest.approx(14.8)
    assert [line.tool for line in played.steps] == ["add", "fly", "add"]
    assert played.steps[1].error == {"error_type": "tool_not_found", "message": "No tool is called 'fly'."}
    assert played.steps[2].as_json() == {
        "step": 3,
        "tool": "add",
        "arguments": {"amount": 2},
        "result": {"total": 3},
        "error": None,
        "reward": 15.0,
        "done": True,
        "now": "2026-03-02T09:18:00Z",
    }
    assert played.trouble is None


async def test_the_digest_covers_every_observation_reward_and_done(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        played = await play_episode(env, a_plan(), Scripted(ADD_1, ADD_2))
    first = {
        "brief": "Add up to the number of T-1.",
        "company": "Tiny",
        "acting_as": "E-1",
        "now": "2026-03-02T09:15:00Z",
        "steps_left": 20,
        "metadata": {},
    }
    step: dict[str, Any] = {"tool_name": "add", "error": None, "metadata": {}}
    one = step | {"result": {"total": 1}, "now": "2026-03-02T09:16:00Z", "steps_left": 19}
    two = step | {"result": {"total": 3}, "now": "2026-03-02T09:17:00Z", "steps_left": 18}
    assert played.record.digest == digest([[first, None, False], [one, -0.1, False], [two, 15.0, True]])


async def test_a_policy_that_returns_early_gives_up(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        played = await play_episode(env, a_plan(), Scripted(ADD_1))
    assert (played.record.outcome, played.record.success) == (Outcome.FAILED, False)
    assert played.steps[-1].tool == "finish"


async def test_a_call_after_the_end_raises_episode_over_and_takes_no_step(tiny_url: str) -> None:
    class Late(Scripted):
        async def play(self, task: TaskView, call: Call) -> None:
            await super().play(task, call)
            with pytest.raises(EpisodeOverError):
                await call("add", {"amount": 1})

    async with CompanyOSEnv(base_url=tiny_url) as env:
        played = await play_episode(env, a_plan(), Late(ADD_1, ADD_2))
    assert (played.record.steps, played.record.success, played.trouble) == (2, True, None)


async def test_a_policy_may_let_episode_over_propagate(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        played = await play_episode(env, a_plan(), Scripted(ADD_1, ADD_2, ADD_1))
    assert (played.record.steps, played.record.success, played.trouble) == (2, True, None)


@pytest.mark.parametrize("error", [KeyError("lost"), FileNotFoundError("lost"), TimeoutError("lost")])
async def test_an_exception_of_a_policy_is_reported_and_its_episode_counts(tiny_url: str, error: Exception) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        played = await play_episode(env, a_plan(), Scripted(ADD_1, error=error))
    assert played.record.outcome is Outcome.FAILED
    assert played.trouble is not None
    assert played.trouble.startswith(f"the policy raised {type(error).__name__}")


async def test_errors_and_messages_of_a_policy_are_stored_with_unusual_characters(
    tiny_url: str, tmp_path: Path
) -> None:
    class TalkingPolicy(Scripted):
        def __init__(self) -> None:
            super().__init__(ADD_1, error=ValueError("a\ud83d\u2028b"))
            self.usage, self.settings = None, dict[str, Any]()
            self.transcript = [{"kind": "message", "message": {"content": "c\ud83d\u2028d"}}]

    [played] = await play_all(tiny_url, [a_plan()], out=tmp_path, make_policy=lambda _: TalkingPolicy())
    assert (played.trouble or "").startswith("the policy raised ValueError: a?\u2028b (")
    assert read_records(tmp_path) == [played.record]
    (message,) = (tmp_path / "messages").glob("*.jsonl")
    assert json.loads(message.read_bytes()) == {"kind": "message", "message": {"content": "c?\u2028d"}}


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (lambda call: call("add", 5), "TypeError: the arguments of a call must be a dict; got 5"),
        (lambda call: call("add", amount=5), "TypeError: call() got an unexpected keyword argument 'amount'"),
    ],
)
async def test_a_call_with_other_arguments_is_explained_in_terms_of_the_policy(
    tiny_url: str, act: Callable[[Any], Awaitable[Any]], reason: str
) -> None:
    class Acting:
        name = "acting"

        async def play(self, task: TaskView, call: Call) -> None:
            await act(call)

    async with CompanyOSEnv(base_url=tiny_url) as env:
        played = await play_episode(env, a_plan(), Acting())
    assert f"the policy raised {reason} (test_runner.py" in (played.trouble or "")
    assert played.record.outcome is Outcome.FAILED


async def test_a_call_that_is_too_large_is_an_error_of_the_policy(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        played = await play_episode(env, a_plan(), Scripted(ADD_1, ("add", {"note": "x" * 1_100_000})))
    assert (played.record.outcome, played.record.steps) == (Outcome.FAILED, 2)
    assert "the policy raised ApiError: body-too-large: " in (played.trouble or "")


async def test_a_policy_that_exceeds_its_time_gives_up_after_the_current_step(tiny_url: str) -> None:
    class SlowEnv(CompanyOSEnv):
        async def call_tool(self, name: str, /, **arguments: Any) -> Any:
            result = await super().call_tool(name, **arguments)
            await asyncio.sleep(0.2)
            return result

    async with SlowEnv(base_url=tiny_url) as env:
        late = await play_episode(env, a_plan(), Scripted(ADD_1, ADD_1, ADD_1), time_limit_s=0.3)
    assert late.trouble == "the policy took longer than 0.3 s"
    assert late.record.outcome is Outcome.FAILED
    assert [(step.step, step.tool) for step in late.steps] == [(1, "add"), (2, "add"), (3, "finish")]


async def test_a_stopped_run_has_a_line_for_every_played_episode(tiny_url: str, tmp_path: Path) -> None:
    plans = [a_plan(seed=seed) for seed in range(3)]
    folder = RunFolder(tmp_path / "run", plans)
    async with CompanyOSEnv(base_url=tiny_url) as env:
        for plan in (plans[2], plans[1]):
            folder.add(await play_episode(env, plan, Scripted(ADD_1)), None)
    folder.close()
    assert [record.seed for record in read_records(tmp_path / "run")] == [1, 2]


async def test_an_internal_server_error_is_an_infra_error(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        played = await play_episode(env, a_plan(), Scripted(ADD_1, ("break", {})))
    assert (played.record.outcome, played.record.steps, played.record.success) == (Outcome.INFRA_ERROR, 1, False)
    assert played.trouble is not None
    assert "unexpected failure" in played.trouble
    assert played.record.return_ == pytest.approx(-0.1)
    assert played.episode_id == "tiny-3-1"


async def test_an_episode_that_the_environment_ends_by_an_error_names_the_step(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        played = await play_episode(env, a_plan(), Scripted(ADD_1, ("fail", {})))
    assert (played.record.outcome, played.record.steps) == (Outcome.INFRA_ERROR, 2)
    assert played.trouble == "step 2: infra-error: Internal error. The log of the gateway has the cause."


async def test_an_episode_that_cannot_begin_is_rejected(tiny_url: str) -> None:
    with pytest.raises(ResetRejectedError, match="unknown-scenario"):
        await play_all(tiny_url, [a_plan(scenario="none")])


async def test_an_unknown_policy_is_rejected_before_anything_is_played(tiny_url: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownPolicyError):
        await play_all(tiny_url, [a_plan(), a_plan(policy="clever")], out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


async def test_a_run_writes_episodes_in_the_order_of_the_seeds_with_trajectory_and_evidence(
    tiny_url: str, tmp_path: Path
) -> None:
    plans = [a_plan(seed) for seed in range(40, 52)]
    played = await play_all(tiny_url, plans, parallel=4, out=tmp_path / "run")
    records = read_records(tmp_path / "run")
    assert [record.seed for record in records] == list(range(40, 52))
    assert records == [episode.record for episode in played]
    for episode in played:
        name = episode.plan.name
        lines = (tmp_path / "run" / "trajectories" / f"{name}.jsonl").read_text().splitlines()
        assert [json.loads(line) for line in lines] == [step.as_json() for step in episode.steps]
        evidence = json.loads(gzip.decompress((tmp_path / "run" / "evidence" / f"{name}.json.gz").read_bytes()))
        assert evidence == {"episode": episode.episode_id}


async def test_the_same_seeds_give_the_same_digests_at_any_parallelism(tiny_url: str) -> None:
    plans = [a_plan(seed) for seed in range(30, 38)]
    alone = await play_all(tiny_url, plans, parallel=1)
    together = await play_all(tiny_url, plans, parallel=8)
    assert [episode.record for episode in alone] == [episode.record for episode in together]
    assert len({episode.record.digest for episode in alone}) > 1


async def test_a_run_replaces_only_a_previous_run_and_only_with_overwrite(tiny_url: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    await play_all(tiny_url, [a_plan(1), a_plan(2)], out=run)
    with pytest.raises(RunExistsError, match="already contains a run of 2 episodes: use --resume"):
        await play_all(tiny_url, [a_plan(2)], out=run)
    assert [record.seed for record in read_records(run)] == [1, 2]
    await play_all(tiny_url, [a_plan(2)], out=run, overwrite=True)
    assert [file.name for file in (run / "trajectories").iterdir()] == ["tiny-2-c1-random.jsonl"]
    assert [record.seed for record in read_records(run)] == [2]
    (run / "thesis.tex").touch()
    with pytest.raises(FileExistsError, match=r"thesis\.tex"):
        await play_all(tiny_url, [a_plan(3)], out=run)
    assert [record.seed for record in read_records(run)] == [2]


async def test_the_trials_of_a_task_are_drawn_independently_and_stored_separately(
    tiny_url: str, tmp_path: Path
) -> None:
    plans = [replace(a_plan(7), trial=trial) for trial in (1, 2, 3)]
    played = await play_all(tiny_url, plans, out=tmp_path)
    assert played[0].record == (await play_all(tiny_url, [a_plan(7)]))[0].record
    assert len({one.record.digest for one in played}) > 1
    assert [record.trial for record in read_records(tmp_path)] == [1, 2, 3]
    names = {"tiny-7-c1-random.jsonl", "tiny-7-c1-random-t2.jsonl", "tiny-7-c1-random-t3.jsonl"}
    assert {file.name for file in (tmp_path / "trajectories").iterdir()} == names
    assert StoredRun(tmp_path).episode("tiny-7-c1-random-t2").steps
    again = await play_all(tiny_url, [*plans, replace(a_plan(7), trial=4)], out=tmp_path, resume=True)
    assert [bool(one.steps) for one in again] == [False, False, False, True]


async def test_a_run_is_not_resumed_with_tasks_of_another_task_set(tiny_url: str, tmp_path: Path) -> None:
    plans = [a_plan(1), a_plan(2)]
    of_sets = {
        one.plan: replace(one, record=one.record.model_copy(update={"task_set": f"1.{one.plan.seed}"}))
        for one in await play_all(tiny_url, plans)
    }
    begun = RunFolder(tmp_path, plans)
    begun.add(of_sets[plans[0]], None)
    begun.close()
    resumed = RunFolder(tmp_path, plans, resume=True)
    with pytest.raises(RunMismatchError, match=r"task set 1\.1, the server now has 1\.2"):
        resumed.add(of_sets[plans[1]], None)
    resumed.close()
    assert [record.task_set for record in read_records(tmp_path)] == ["1.1"]


@pytest.mark.parametrize("name", ["../../beside", "/absolute", "a/b"])
def test_a_plan_whose_files_would_be_outside_of_the_folder_is_rejected(tmp_path: Path, name: str) -> None:
    for plan in (replace(a_plan(), task_id=name), a_plan(policy=name), a_plan(scenario=name)):
        with pytest.raises(NotADirectoryError, match="not a valid file name"):
            RunFolder(tmp_path / "run", [plan])
    assert list(tmp_path.iterdir()) == []


async def test_a_run_that_cannot_begin_does_not_change_the_previous_run(tiny_url: str, tmp_path: Path) -> None:
    await play_all(tiny_url, [a_plan(1)], out=tmp_path / "run")
    with pytest.raises(ResetRejectedError):
        await play_all(tiny_url, [a_plan(scenario="none")], out=tmp_path / "run", overwrite=True)
    assert [record.seed for record in read_records(tmp_path / "run")] == [1]
