"""The Task API and resets of its tasks, over HTTP and through the OpenEnv environment."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_gateway.api.openenv_environment import CompanyOSEnvironment
from companyos_gateway.engine.errors import UnknownTaskError
from companyos_gateway.tasks import CANARY
from tests.gateway.conftest import NotesGateway, OpenGateway, problem

TEST_TASKS = 40


async def _post(gateway: NotesGateway, path: str, **body: Any) -> Any:
    answer = await gateway.http.post(f"/companyos/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def _reset(gateway: NotesGateway, **options: Any) -> Any:
    return await gateway.http.post("/reset", json=options)


async def test_the_splits_are_listed_with_sizes_version_and_canary(gateway: NotesGateway) -> None:
    listed = (await gateway.http.get("/companyos/splits")).json()
    assert [(split["name"], split["type"]) for split in listed] == [
        (name, name) for name in ("train", "validation", "test")
    ]
    assert [split["num_tasks"] for split in listed] == [200, 20, TEST_TASKS]
    assert {split["canary"] for split in listed} == {CANARY}
    assert (await _post(gateway, "num_tasks", split="test")) == {"num_tasks": TEST_TASKS}


async def test_tasks_are_listed_one_by_one_and_in_slices(gateway: NotesGateway) -> None:
    tasks = (await _post(gateway, "tasks", split="test"))["tasks"]
    assert [task["index"] for task in tasks] == list(range(TEST_TASKS))
    assert (await _post(gateway, "task_range", split="test", start=38))["tasks"] == tasks[38:]
    one = (await _post(gateway, "task", split="test", index=7))["task"]
    assert one == {**tasks[7], "brief": "Do notes 1 and 2."}
    assert (one["difficulty"], one["group"], one["chaos"]) == ("moderate", "note_keeping", 2)


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        ("tasks", {"split": "dev"}, "split"),
        ("num_tasks", {"split": ""}, "split"),
        ("task", {"split": "test", "index": TEST_TASKS}, "index"),
        ("task", {"split": "test", "index": -1}, "index"),
        ("task_range", {"split": "dev", "start": 0, "stop": 1}, "split"),
    ],
)
async def test_an_unknown_task_is_400(gateway: NotesGateway, path: str, body: dict[str, Any], place: str) -> None:
    answer = await gateway.http.post(f"/companyos/{path}", json=body)
    assert problem(answer) == (400, "unknown-task")
    assert answer.json()["detail"].startswith(place)


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        ("task", {"split": "train", "index": False}, "index"),
        ("task", {"split": "train", "index": "0"}, "index"),
        ("task_range", {"split": "train", "start": 0, "stop": True}, "stop"),
    ],
)
async def test_a_number_must_not_be_a_text_or_a_boolean(
    gateway: NotesGateway, path: str, body: dict[str, Any], place: str
) -> None:
    answer = await gateway.http.post(f"/companyos/{path}", json=body)
    assert problem(answer) == (422, "invalid-request")
    assert [one["place"] for one in answer.json()["errors"]] == [place]


async def test_a_task_is_selected_by_split_and_index_or_by_its_id(gateway: NotesGateway) -> None:
    first = (await _reset(gateway, split="test", index=7)).json()
    task = (await _post(gateway, "task", split="test", index=7))["task"]
    second = (await _reset(gateway, task_id=task["id"])).json()
    assert first["observation"]["brief"] == task["brief"]
    states = [await gateway.state(episode["episode_id"]) for episode in (first, second)]
    assert len({(state["scenario"], state["seed"], state["chaos"]) for state in states}) == 1
    assert {(state["task_id"], state["task_set"]) for state in states} == {(task["id"], task["version"])}
    assert states[0]["seed"] >= 5_000_000_000


async def test_an_episode_without_a_task_has_no_task_id(gateway: NotesGateway) -> None:
    state = await gateway.state(await gateway.begin(seed=3))
    assert (state["task_id"], state["task_set"]) == (None, None)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "test", "index": 0, "seed": 1}, "a task cannot be combined with seed"),
        ({"task_id": "test.note_keeping.0.00", "seed": 1, "chaos": 2}, "a task cannot be combined with chaos, seed"),
        ({"split": "test", "index": 0, "scenario": "note_keeping"}, "a task cannot be combined with scenario"),
        ({"split": "test"}, "split and index must be set together"),
        ({"index": 0}, "split and index must be set together"),
        (
            {"split": "test", "index": 0, "task_id": "test.note_keeping.0.00"},
            "cannot be combined with task_id",
        ),
        ({"split": "dev", "index": 0}, "split: "),
        ({"split": "test", "index": TEST_TASKS}, "index must be 0 to 39 for test; got 40"),
        ({"split": "test", "index": -1}, "index: "),
        ({"task_id": "test.nothing.0.00"}, "no scenario or shift is named 'nothing'"),
        ({"task_id": "test.note_keeping.0.99"}, "00 to 07 for test; got 'test.note_keeping.0.99'"),
        ({"task_id": "foo"}, "task_id must be SPLIT.SCENARIO.LEVEL.NUMBER"),
    ],
)
async def test_a_task_is_selected_in_one_way_and_determines_its_seed(
    gateway: NotesGateway, options: dict[str, Any], message: str
) -> None:
    answer = await _reset(gateway, **options)
    assert problem(answer) == (422, "invalid-reset")
    assert message in answer.json()["detail"]


async def test_other_options_can_be_combined_with_a_task(gateway: NotesGateway) -> None:
    answer = await _reset(gateway, split="train", index=1, completion="explicit", toolset="task", episode_id="mine")
    assert (answer.status_code, answer.json()["episode_id"]) == (200, "mine")


async def test_an_episode_of_a_task_is_recovered_after_a_restart_with_the_same_task(
    open_kept: OpenGateway,
) -> None:
    async with open_kept() as gateway:
        begun = (await _reset(gateway, split="test", index=3, episode_id="mine")).json()
        before = await gateway.state(begun["episode_id"])
    async with open_kept() as gateway:
        after = await gateway.state("mine")
    assert after == before
    assert after["task_id"] == "test.note_keeping.3.00"


async def test_the_framework_lists_the_same_tasks_on_a_new_environment(gateway: NotesGateway) -> None:
    environment = CompanyOSEnvironment(gateway.runtime)
    assert [split["name"] for split in environment.list_splits()] == ["train", "validation", "test"]
    assert environment.num_tasks("validation") == len(environment.list_tasks("validation")) == 20
    assert environment.get_task_range("test", 1, 2)[0]["id"] == environment.get_task("test", 1)["id"]
    with pytest.raises(UnknownTaskError):
        environment.get_task("test", TEST_TASKS)
