"""An episode from reset to its end, over HTTP and with a real service."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import httpx
import pytest

from companyos_gateway.engine.episode import MAX_QUEUED_CALLS
from companyos_shared.wire.context import Fault, FaultKind
from tests.gateway.conftest import NotesGateway, OpenGateway, problem
from tests.gateway.notes import STARTED_AT, NoteKeeping
from tests.gateway.transports import CallRecorder, Held


async def test_a_reset_returns_the_brief_and_an_id(gateway: NotesGateway) -> None:
    answer = await gateway.reset()
    assert answer["observation"]["brief"] == "Do notes 1 and 2."
    assert answer["observation"]["now"] == "2026-03-02T09:00:00Z"
    assert answer["observation"]["steps_left"] == 10
    assert answer["done"] is False
    assert (await gateway.state(answer["episode_id"]))["seed"] == 1


async def test_an_empty_reset_draws_a_seed_and_reports_it(gateway: NotesGateway) -> None:
    answer = (await gateway.http.post("/reset", json={"scenario": "note_keeping"})).json()
    assert isinstance((await gateway.state(answer["episode_id"]))["seed"], int)


async def test_an_episode_ends_in_success_with_the_closing_step(gateway: NotesGateway) -> None:
    episode = await gateway.begin()
    first = await gateway.step(episode, "notes_finish_note", note_id=1)
    assert first["reward"] == 1.9
    assert first["observation"]["result"]["done_at"] == "2026-03-02T09:10:00Z"
    last = await gateway.step(episode, "notes_finish_note", note_id=2)
    assert last["done"] is True
    assert last["reward"] == 14.9
    state = await gateway.state(episode)
    assert (state["outcome"], state["success"], state["return"], state["step_count"]) == ("success", True, 16.8, 2)


async def test_with_explicit_completion_only_finish_ends_it(gateway: NotesGateway) -> None:
    episode = await gateway.begin(completion="explicit")
    for note_id in (1, 2):
        assert not (await gateway.step(episode, "notes_finish_note", note_id=note_id))["done"]
    last = await gateway.step(episode, "finish", outcome="done", summary="Both are done.")
    assert last["done"]
    assert (await gateway.state(episode))["outcome"] == "success"


async def test_finishing_before_the_goal_is_met_is_a_failure(gateway: NotesGateway) -> None:
    episode = await gateway.begin()
    last = await gateway.step(episode, "finish", outcome="done", summary="All done, honestly.")
    assert (last["done"], last["reward"]) == (True, -5.1)
    assert (await gateway.state(episode))["outcome"] == "failed"


async def test_the_closing_step_after_a_collateral_change_is_a_failure(gateway: NotesGateway) -> None:
    episode = await gateway.begin("mine")
    ends = [(await gateway.step(episode, "notes_finish_note", note_id=note_id))["done"] for note_id in (1, 2)]
    assert ends == [False, True]
    assert (await gateway.state(episode))["outcome"] == "failed"


async def test_running_out_of_steps_is_a_failure(open_gateway: OpenGateway) -> None:
    async with open_gateway(NoteKeeping(max_steps=2)) as gateway:
        episode = await gateway.begin()
        assert not (await gateway.step(episode, "notes_list_notes"))["done"]
        last = await gateway.step(episode, "no_such_tool")
        assert (last["done"], last["reward"]) == (True, -6.1)
        assert (await gateway.state(episode))["outcome"] == "out_of_steps"


async def test_calls_take_simulated_minutes_by_their_kind(gateway: NotesGateway) -> None:
    episode = await gateway.begin()
    read = await gateway.step(episode, "notes_list_notes")
    assert read["observation"]["now"] == "2026-03-02T09:01:00Z"
    write = await gateway.step(episode, "notes_write_note", text="a")
    assert write["observation"]["now"] == "2026-03-02T09:04:00Z"
    slow = await gateway.step(episode, "notes_finish_note", note_id=1)
    assert slow["observation"]["now"] == "2026-03-02T09:14:00Z"


async def test_an_invalid_call_takes_no_time_and_reaches_no_service(gateway: NotesGateway) -> None:
    episode = await gateway.begin()
    answer = await gateway.step(episode, "notes_get_note", note_id="one")
    assert answer["observation"]["error"]["error_type"] == "invalid_args"
    assert answer["reward"] == -1.1
    assert answer["observation"]["now"] == "2026-03-02T09:00:00Z"
    assert gateway.service.state.episodes.open_count == 0


LONG_ADDRESS = '{"tool_name": "notes_find_word", "arguments": {"word": "' + "中" * 2_000 + '"}}'
LONG_NUMBERS = ",".join(["1e15"] * 4_000)
LONG_BODY = '{"tool_name": "notes_write_note", "arguments": {"text": "x", "scores": [' + LONG_NUMBERS + "]}}"


@pytest.mark.parametrize("action", [LONG_ADDRESS, LONG_BODY], ids=["address", "body"])
async def test_oversized_arguments_are_invalid_not_an_internal_error(gateway: NotesGateway, action: str) -> None:
    episode_id = await gateway.begin()
    content = f'{{"episode_id": "{episode_id}", "action": {action}}}'
    answer = (await gateway.http.post("/step", content=content)).json()
    assert answer["observation"]["error"]["error_type"] == "invalid_args"
    assert (answer["reward"], answer["done"]) == (-1.1, False)


async def test_a_rejection_by_a_service_is_a_step_with_the_problem_in_its_result(gateway: NotesGateway) -> None:
    episode = await gateway.begin()
    answer = await gateway.step(episode, "notes_get_note", note_id=9)
    assert answer["observation"]["error"] is None
    assert answer["observation"]["result"]["code"] == "note-not-found"
    assert answer["reward"] == -0.4


async def test_scheduled_events_occur_while_the_agent_waits(open_gateway: OpenGateway) -> None:
    async with open_gateway(NoteKeeping(later=STARTED_AT + timedelta(minutes=30))) as gateway:
        episode = await gateway.begin()
        assert len((await gateway.step(episode, "notes_list_notes"))["observation"]["result"]) == 2
        waited = await gateway.step(episode, "wait", minutes=29)
        assert waited["observation"]["result"] == {"waited_minutes": 29}
        assert waited["observation"]["now"] == "2026-03-02T09:30:00Z"
        texts = [note["text"] for note in (await gateway.step(episode, "notes_list_notes"))["observation"]["result"]]
        assert texts[-1] == "from a colleague"


async def test_wait_can_end_at_the_next_working_morning(gateway: NotesGateway) -> None:
    episode = await gateway.begin()
    waited = await gateway.step(episode, "wait", until="next_working_morning")
    assert waited["observation"]["now"] == "2026-03-03T09:00:00Z"


async def test_a_planned_fault_costs_one_step_and_is_never_resent(open_gateway: OpenGateway) -> None:
    faults = {
        ("finish_note", 1): Fault(kind=FaultKind.RATE_LIMITED, retry_after_s=7),
        ("finish_note", 2): Fault(kind=FaultKind.TIMEOUT_AFTER_COMMIT),
    }
    async with open_gateway(NoteKeeping(faults=faults)) as gateway:
        episode = await gateway.begin()
        limited = await gateway.step(episode, "notes_finish_note", note_id=1)
        assert limited["reward"] == -0.1
        assert limited["observation"]["result"]["status"] == 429
        assert limited["observation"]["result"]["retry_after_s"] == 7
        committed = await gateway.step(episode, "notes_finish_note", note_id=1)
        assert committed["observation"]["result"]["status"] == 504
        assert committed["reward"] == 1.9
        assert (await gateway.step(episode, "notes_get_note", note_id=1))["observation"]["result"]["done_at"]


async def test_an_internal_error_ends_the_episode_without_a_penalty(gateway: NotesGateway) -> None:
    episode = await gateway.begin()
    answer = await gateway.step(episode, "notes_break_things")
    assert (answer["done"], answer["reward"]) == (True, 0.0)
    assert answer["observation"]["error"]["message"].startswith("infra-error")
    assert (await gateway.state(episode))["outcome"] == "infra_error"
    assert gateway.runtime.engine().store.outcomes == {"infra_error": 1}


async def test_evidence_that_does_not_fold_is_an_infra_error(gateway: NotesGateway) -> None:
    episode = await gateway.begin()
    await gateway.step(episode, "notes_finish_note", note_id=1)
    session = gateway.service.state.episodes._open[gateway.runtime.engine().store.get(episode).internal_id]
    for (name,) in session.db.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'").all():
        session.db.exec_driver_sql(f"DROP TRIGGER {name}")
    session.db.exec_driver_sql("UPDATE notes SET text = 'written behind everybody''s back'")
    await gateway.step(episode, "finish", outcome="done", summary="Both are done.")
    assert (await gateway.state(episode))["outcome"] == "infra_error"


@pytest.mark.parametrize(
    ("tool", "digests"), [("notes_list_notes", 0), ("notes_write_note", 1)], ids=["read", "written"]
)
async def test_the_rows_of_services_that_received_writes_are_checked_at_the_end(
    open_gateway: OpenGateway, tool: str, digests: int
) -> None:
    recorder = CallRecorder()
    async with open_gateway(wrap=recorder.wrap) as gateway:
        episode = await gateway.begin()
        await gateway.step(episode, tool, **({"text": "a"} if digests else {}))
        answer = await gateway.step(episode, "finish", outcome="done", summary="It is done.")
    assert answer["done"]
    assert recorder.paths.count("/control/digest") == digests


async def test_the_services_of_a_restored_snapshot_are_checked_at_the_end_of_the_episode(
    open_gateway: OpenGateway,
) -> None:
    recorder = CallRecorder()
    async with open_gateway(wrap=recorder.wrap) as gateway:
        episode = await gateway.begin("a")
        taken = await gateway.snapshot(episode)
        await gateway.restore(episode, taken)
        await gateway.step(episode, "notes_list_notes")
        await gateway.step(episode, "finish", outcome="done", summary="It is done.")
    assert recorder.paths.count("/control/digest") == 1


async def test_a_cached_task_is_reset_without_a_service_call(open_gateway: OpenGateway) -> None:
    recorder = CallRecorder()
    async with open_gateway(wrap=recorder.wrap) as gateway:
        await gateway.reset()
        assert recorder.paths.count("/control/load") == 1
        before = len(recorder.paths)
        await gateway.reset()
        assert len(recorder.paths) == before


async def test_a_step_makes_one_service_call(open_gateway: OpenGateway) -> None:
    recorder = CallRecorder()
    async with open_gateway(wrap=recorder.wrap) as gateway:
        episode = await gateway.begin()
        recorder.paths.clear()
        await gateway.step(episode, "notes_get_note", note_id=1)
        assert recorder.paths == ["/notes/1"]


async def test_a_service_that_lost_the_source_gets_the_document_again(gateway: NotesGateway) -> None:
    episode = await gateway.begin()
    for template in (gateway.service.state.episodes._folder / "templates").rglob("*.db"):
        template.unlink()
    assert len((await gateway.step(episode, "notes_list_notes"))["observation"]["result"]) == 2


async def test_two_episodes_of_one_task_are_isolated(gateway: NotesGateway) -> None:
    one, other = [await gateway.begin() for _ in range(2)]
    await gateway.step(one, "notes_write_note", text="only mine")
    listed = await asyncio.gather(*(gateway.step(episode, "notes_list_notes") for episode in (one, other)))
    assert [len(answer["observation"]["result"]) for answer in listed] == [3, 2]


async def test_a_repeated_last_step_gets_the_same_response(gateway: NotesGateway) -> None:
    episode = await gateway.begin()
    first = await gateway.post_step(episode, "notes_write_note", step=1, text="a")
    again = await gateway.post_step(episode, "notes_write_note", step=1, text="a")
    assert again.json() == first.json()
    assert (await gateway.state(episode))["step_count"] == 1
    for number, text in [(1, "b"), (3, "a")]:
        other = await gateway.post_step(episode, "notes_write_note", step=number, text=text)
        assert problem(other) == (409, "step-conflict")


async def test_calls_of_one_episode_are_queued_up_to_a_limit(open_gateway: OpenGateway) -> None:
    held = Held()
    async with open_gateway(wrap=held.wrap) as gateway:
        episode = await gateway.begin()
        held.released.clear()
        calls = [
            asyncio.create_task(gateway.post_step(episode, "notes_write_note", text=str(n)))
            for n in range(MAX_QUEUED_CALLS + 3)
        ]
        refused = await asyncio.wait_for(_first_done(calls, 2), 5)
        held.released.set()
        answers = await asyncio.gather(*calls)
        assert [call.result().json()["code"] for call in refused] == ["too-many-waiting"] * 2
        assert sorted(answer.status_code for answer in answers) == [200] * (MAX_QUEUED_CALLS + 1) + [429] * 2
        assert (await gateway.state(episode))["step_count"] == MAX_QUEUED_CALLS + 1


async def test_a_task_toolset_lists_and_accepts_only_its_tools(gateway: NotesGateway) -> None:
    episode = await gateway.begin(toolset="task")
    offered = (await gateway.http.get("/v1/tools", params={"episode_id": episode})).json()
    assert [tool["name"] for tool in offered] == ["notes_list_notes", "notes_finish_note", "wait", "finish"]
    answer = await gateway.step(episode, "notes_write_note", text="a")
    assert answer["observation"]["error"]["error_type"] == "tool_not_found"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "notes_finish_notes",
            'No tool is named "notes_finish_notes". Similar names: notes_finish_note, notes_list_notes.',
        ),
        ("x" * 10_000, f'No tool is named "{"x" * 79}....'),
    ],
    ids=["similar", "long"],
)
async def test_an_unknown_tool_is_named_with_similar_tools_of_the_episode(
    gateway: NotesGateway, name: str, message: str
) -> None:
    episode = await gateway.begin(toolset="task")
    answer = await gateway.step(episode, name)
    assert answer["observation"]["error"]["message"] == message


async def test_an_episode_is_rendered_as_readable_text(gateway: NotesGateway) -> None:
    episode = await gateway.begin()
    await gateway.step(episode, "notes_finish_note", note_id=1)
    shown = (await gateway.http.get("/render", params={"episode_id": episode})).json()
    assert shown["steps"] == [
        {"step": 1, "now": "2026-03-02T09:10:00Z", "tool": "notes_finish_note", "outcome": "carried_out", "reward": 1.9}
    ]
    text = (await gateway.http.get("/render", params={"episode_id": episode, "mode": "text"})).text
    assert "notes_finish_note" in text
    assert "\x1b" not in text


async def test_the_unit_scale_with_the_terminal_reward_only_pays_exactly_one(gateway: NotesGateway) -> None:
    episode = await gateway.begin(reward_scale="unit", shaping="none")
    assert (await gateway.step(episode, "notes_finish_note", note_id=1))["reward"] == 0.0
    assert (await gateway.step(episode, "notes_finish_note", note_id=2))["reward"] == 1.0


async def _first_done(calls: list[asyncio.Task[httpx.Response]], count: int) -> list[asyncio.Task[httpx.Response]]:
    done: set[asyncio.Task[httpx.Response]] = set()
    while len(done) < count:
        more, _ = await asyncio.wait(set(calls) - done, return_when=asyncio.FIRST_COMPLETED)
        done |= more
    return sorted(done, key=calls.index)
