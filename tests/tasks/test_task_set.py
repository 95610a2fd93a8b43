"""The task set: every position is one task, splits share neither seeds nor structures, and no secret is published."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from companyos.contract import Split, TaskInfo
from companyos_gateway.chaos import levels
from companyos_gateway.evaluation import row_views
from companyos_gateway.scenarios import Instance, catalogue
from companyos_gateway.tasks import CANARY, COPIES, TaskNotFoundError, TaskPosition, TaskSet, fingerprint
from companyos_gateway.world.splits import split_of_seed

pytestmark = pytest.mark.matrix

SCENARIOS = sorted(catalogue())
SAMPLE = [(Split.TRAIN, 0), (Split.TRAIN, 1), (Split.VALIDATION, 0), (Split.TEST, 0), (Split.TEST, 1)]
"""Tested positions of each scenario: split and copy; the level depends on the scenario."""

TASKS = TaskSet(catalogue())


@cache
def _planned(position: TaskPosition) -> Instance:
    return TASKS.instance(position)


def _sample() -> Iterator[TaskPosition]:
    for number, scenario in enumerate(SCENARIOS):
        for split, copy in SAMPLE:
            yield TaskPosition(split=split, scenario=scenario, chaos=levels()[number % len(levels())], copy=copy)


def _all_places() -> Iterator[TaskPosition]:
    for split in Split:
        for index in range(TASKS.size(split)):
            yield TASKS.position(split, index)


def test_a_position_is_found_by_its_index_and_by_its_id() -> None:
    for split in Split:
        for index in range(TASKS.size(split)):
            position = TASKS.position(split, index)
            assert (position.split, position.index(SCENARIOS, levels())) == (split, index)
            assert TASKS.find(position.id) == position
    assert len({position.id for position in _all_places()}) == sum(TASKS.size(split) for split in Split)


def test_the_first_tasks_of_a_split_have_every_scenario_and_level_equally_often() -> None:
    first = [TASKS.position("test", index) for index in range(len(SCENARIOS) * len(levels()))]
    assert [position.scenario for position in first[: len(SCENARIOS)]] == SCENARIOS
    assert {(position.scenario, position.chaos) for position in first} == set(itertools.product(SCENARIOS, levels()))


@pytest.mark.parametrize("split", Split)
def test_a_split_has_every_scenario_at_every_level_equally_often(split: Split) -> None:
    assert TASKS.size(split) == COPIES[split] * len(levels()) * len(SCENARIOS)
    assert [info.num_tasks for info in TASKS.splits() if info.name is split] == [TASKS.size(split)]


def test_tasks_of_a_scenario_have_disjoint_seed_ranges() -> None:
    starts: dict[str, list[range]] = {}
    for position in _all_places():
        starts.setdefault(position.scenario, []).append(position.seeds)
        assert split_of_seed(position.seeds.start) is split_of_seed(position.seeds.stop - 1) is position.split
    for seeds in starts.values():
        ordered = sorted(seeds, key=lambda one: one.start)
        assert all(one.stop <= other.start for one, other in itertools.pairwise(ordered))


def test_a_held_out_structure_is_used_only_in_every_other_test_task() -> None:
    for position in _sample():
        held_out = catalogue()[position.scenario].held_out
        is_held_out = _planned(position).variant in held_out
        assert is_held_out == (bool(held_out) and position.split is Split.TEST and position.copy % 2 == 1), position.id


def test_a_task_is_the_instance_of_its_seed() -> None:
    position = TASKS.position("test", 1)
    assert _planned(position).seed == TASKS.seed(position)
    assert fingerprint(TaskSet(catalogue()).instance(position)) == fingerprint(_planned(position))


def test_a_fingerprint_depends_on_brief_and_rows_but_not_on_the_hidden_seed() -> None:
    scenario = catalogue()["vendor_onboarding"]
    instance, other = scenario.plan(1, 1), scenario.plan(2, 1)
    drawn = {name: {**part, "draw_seed": "other"} for name, part in instance.documents.items()}
    again = replace(instance, documents=drawn)
    assert fingerprint(again) == fingerprint(instance)
    assert fingerprint(replace(instance, brief="another")) != fingerprint(instance)
    assert fingerprint(replace(instance, documents=other.documents)) != fingerprint(instance)


def test_a_published_task_contains_version_and_canary_but_no_hints() -> None:
    for position in itertools.islice(_sample(), 0, None, 3):
        name = f"{position.split}.{position.scenario}.{position.chaos}"
        task_info, instance = TASKS.task(name, position.copy), _planned(position)
        assert set(TaskInfo.model_fields) == set(task_info.model_dump())
        assert (task_info.version, task_info.canary) == (TASKS.version, CANARY)
        text = task_info.model_copy(update={"brief": None, "canary": ""}).model_dump_json()
        assert str(instance.seed) not in text
        assert instance.variant not in task_info.model_dump().values()
        assert task_info.brief == instance.brief
        people = instance.documents[row_views.TICKETDESK]["company"]["people"]
        assert not [one["name"] for one in people if one["name"] in instance.brief]
        assert len(set(re.findall(r"\b[A-Z]{1,4}-[0-9]+\b", instance.brief))) == 1


def test_the_canary_is_a_guid_in_every_listed_task() -> None:
    assert re.fullmatch(r"companyos:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", CANARY)
    assert {task.canary for split in Split for task in TASKS.tasks(split)} == {CANARY}
    assert {split.canary for split in TASKS.splits()} == {CANARY}


@pytest.mark.parametrize("name", ["shift-month", "shift-expense_report-vendor_onboarding", "vendor_onboarding-large"])
def test_shifts_and_larger_companies_have_tasks_that_are_listed_by_name(name: str) -> None:
    listed = TASKS.tasks(f"test.{name}")
    assert len(listed) == TASKS.size(f"test.{name}") == COPIES[Split.TEST] * len(levels())
    assert {(task.scenario, task.index) for task in listed} == {(name, None)}
    for number, task in enumerate(listed):
        position = TASKS.position(f"test.{name}", number)
        assert position == TASKS.find(task.id)
        assert split_of_seed(TASKS.seed(position)) is Split.TEST
    assert not {task.id for task in listed} & {task.id for task in TASKS.tasks("test")}


def test_a_level_selects_tasks_of_a_name() -> None:
    storm = TASKS.tasks("test.shift-month.4")
    assert [task.id for task in storm] == [f"test.shift-month.4.{copy:02d}" for copy in range(COPIES[Split.TEST])]
    assert {task.difficulty for task in storm} == {"storm"}


def test_a_task_of_a_shift_is_the_shift_of_its_seed() -> None:
    task, position = TASKS.task("validation.shift-day", 3), TASKS.position("validation.shift-day", 3)
    assert task.brief == TASKS.instance(position).brief
    assert TASKS.instance(position).scenario == "shift-day"


def test_a_scenario_selects_its_tasks_of_a_split() -> None:
    [name] = {task.scenario for task in TASKS.tasks("train.expense_report")}
    assert name == "expense_report"
    listed = {task.id: task.index for task in TASKS.tasks("train") if task.scenario == name}
    assert {task.id: task.index for task in TASKS.tasks("train.expense_report")} == listed


def test_slices_work_like_in_python() -> None:
    listed = TASKS.tasks("validation")
    assert [task.index for task in listed] == list(range(TASKS.size("validation")))
    assert TASKS.tasks("validation", 3, 5) == listed[3:5]
    assert TASKS.tasks("validation", -2) == listed[-2:]
    assert TASKS.tasks("validation", 5, 3) == []
    assert {task.brief for task in listed} == {None}


def test_the_version_changes_with_the_contents_of_the_set() -> None:
    scenarios = catalogue()
    fewer = {name: scenarios[name] for name in SCENARIOS[1:]}
    assert TaskSet(scenarios).version == TASKS.version != TaskSet(fewer).version


@pytest.mark.parametrize(
    ("split", "index", "field"),
    [
        ("dev", 0, "split"),
        ("dev.shift-week", 0, "split"),
        ("test.shift-decade", 0, "split"),
        ("test.cooking", 0, "split"),
        ("test.shift-week.9", 0, "split"),
        ("test", -1, "index"),
        ("test", 10**9, "index"),
        ("test.shift-week.4", 8, "index"),
    ],
)
def test_an_invalid_position_is_rejected_with_the_argument(split: str, index: int, field: str) -> None:
    with pytest.raises(TaskNotFoundError, match=rf"^{field}\b"):
        TASKS.position(split, index)


@pytest.mark.parametrize(
    "task_id",
    [
        *("", "test", "dev.vendor_onboarding.0.00", "test.nothing.0.00", "test.vendor_onboarding.5.00"),
        *("test.vendor_onboarding.0.08", "test.vendor_onboarding.0.007", "test.vendor_onboarding.0.00\n"),
    ],
)
def test_an_invalid_id_is_rejected(task_id: str) -> None:
    with pytest.raises(TaskNotFoundError, match=r"^task_id(:| must be) "):
        TASKS.find(task_id)
