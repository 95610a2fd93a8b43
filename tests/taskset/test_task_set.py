"""The task set: every place is one task, the splits share neither seeds nor structures, nothing hidden is published."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import cache

import pytest

from companyos.contract import Split, TaskInfo
from companyos_gateway.chaos import levels
from companyos_gateway.evaluation import row_views
from companyos_gateway.scenarios import Instance, catalogue
from companyos_gateway.taskset import CANARY, COPIES, Place, TaskSet, UnknownPlace, fingerprint
from companyos_gateway.world.splits import split_of_seed

SCENARIOS = sorted(catalogue())
SAMPLE = [(Split.TRAIN, 0), (Split.TRAIN, 1), (Split.VALIDATION, 0), (Split.TEST, 0), (Split.TEST, 1)]
"""What is looked at of each scenario: split and copy; the level goes with the scenario."""

TASKS = TaskSet(catalogue())


@cache
def _planned(place: Place) -> Instance:
    return TASKS.instance(place)


def _sample() -> Iterator[Place]:
    for number, scenario in enumerate(SCENARIOS):
        for split, copy in SAMPLE:
            yield Place(split=split, scenario=scenario, chaos=levels()[number % len(levels())], copy=copy)


def _all_places() -> Iterator[Place]:
    for split in Split:
        for index in range(TASKS.size(split)):
            yield TASKS.place(split, index)


def test_a_place_is_found_by_its_number_and_by_its_id() -> None:
    for split in Split:
        for index in range(TASKS.size(split)):
            place = TASKS.place(split, index)
            assert (place.split, place.index(SCENARIOS)) == (split, index)
            assert TASKS.find(place.id) == place
    assert len({place.id for place in _all_places()}) == sum(TASKS.size(split) for split in Split)


def test_every_beginning_of_a_split_is_balanced() -> None:
    first = [TASKS.place("test", index) for index in range(len(SCENARIOS) * len(levels()))]
    assert [place.scenario for place in first[: len(SCENARIOS)]] == SCENARIOS
    assert {(place.scenario, place.chaos) for place in first} == set(itertools.product(SCENARIOS, levels()))


@pytest.mark.parametrize("split", Split)
def test_a_split_has_every_scenario_at_every_level_equally_often(split: Split) -> None:
    assert TASKS.size(split) == COPIES[split] * len(levels()) * len(SCENARIOS)
    assert [info.num_tasks for info in TASKS.splits() if info.name is split] == [TASKS.size(split)]


def test_no_two_tasks_of_a_scenario_share_a_seed_they_could_have() -> None:
    starts: dict[str, list[range]] = {}
    for place in _all_places():
        starts.setdefault(place.scenario, []).append(place.seeds)
        assert split_of_seed(place.seeds.start) is split_of_seed(place.seeds.stop - 1) is place.split
    for seeds in starts.values():
        ordered = sorted(seeds, key=lambda one: one.start)
        assert all(one.stop <= other.start for one, other in itertools.pairwise(ordered))


def test_a_held_out_structure_is_in_every_other_test_task_and_nowhere_else() -> None:
    for place in _sample():
        held_out = catalogue()[place.scenario].held_out
        is_held_out = _planned(place).variant in held_out
        assert is_held_out == (bool(held_out) and place.split is Split.TEST and place.copy % 2 == 1), place.id


def test_no_two_tasks_are_the_same_instance() -> None:
    prints = [fingerprint(_planned(place)) for place in _sample()]
    assert len(set(prints)) == len(prints)


def test_a_task_is_the_instance_of_its_seed() -> None:
    place = TASKS.place("test", 1)
    assert _planned(place).seed == TASKS.seed(place)
    assert fingerprint(TaskSet(catalogue()).instance(place)) == fingerprint(_planned(place))


def test_a_fingerprint_tells_the_brief_and_the_rows_apart_but_no_hidden_seed() -> None:
    scenario = catalogue()["vendor_onboarding"]
    instance, other = scenario.plan(1, 1), scenario.plan(2, 1)
    drawn = {name: {**part, "draw_seed": "other"} for name, part in instance.documents.items()}
    again = _with(instance, documents=drawn)
    assert fingerprint(again) == fingerprint(instance)
    assert fingerprint(_with(instance, brief="another")) != fingerprint(instance)
    assert fingerprint(_with(instance, documents=other.documents)) != fingerprint(instance)


def test_a_published_task_names_its_version_and_the_canary_and_nothing_that_helps() -> None:
    for place in itertools.islice(_sample(), 0, None, 3):
        told, instance = TASKS.task(place), _planned(place)
        assert set(TaskInfo.model_fields) == set(told.model_dump())
        assert (told.version, told.canary) == (TASKS.version, CANARY)
        text = told.model_copy(update={"brief": None, "canary": ""}).model_dump_json()
        assert str(instance.seed) not in text
        assert instance.variant not in told.model_dump().values()
        assert told.brief == instance.brief
        people = instance.documents[row_views.TICKETDESK]["company"]["people"]
        assert not [one["name"] for one in people if one["name"] in instance.brief]
        assert len(set(re.findall(r"\b[A-Z]{1,4}-[0-9]+\b", instance.brief))) == 1


def test_the_canary_is_a_guid_and_stands_in_every_listed_task() -> None:
    assert re.fullmatch(r"companyos:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", CANARY)
    assert {task.canary for split in Split for task in TASKS.tasks(split)} == {CANARY}
    assert {split.canary for split in TASKS.splits()} == {CANARY}


def test_slices_are_pythons() -> None:
    listed = TASKS.tasks("validation")
    assert [task.index for task in listed] == list(range(TASKS.size("validation")))
    assert TASKS.tasks("validation", 3, 5) == listed[3:5]
    assert TASKS.tasks("validation", -2) == listed[-2:]
    assert TASKS.tasks("validation", 5, 3) == []
    assert {task.brief for task in listed} == {None}


def test_the_version_changes_with_what_is_in_the_set() -> None:
    scenarios = catalogue()
    fewer = {name: scenarios[name] for name in SCENARIOS[1:]}
    assert TaskSet(scenarios).version == TASKS.version != TaskSet(fewer).version


@pytest.mark.parametrize(
    ("split", "index", "place"), [("dev", 0, "split"), ("test", -1, "index"), ("test", 10**9, "index")]
)
def test_a_place_that_is_none_is_refused_with_its_name(split: str, index: int, place: str) -> None:
    with pytest.raises(UnknownPlace, match=f"^{place}: "):
        TASKS.place(split, index)


@pytest.mark.parametrize(
    "task_id",
    [
        *("", "test", "dev.vendor_onboarding.0.00", "test.nothing.0.00", "test.vendor_onboarding.5.00"),
        *("test.vendor_onboarding.0.08", "test.vendor_onboarding.0.007", "test.vendor_onboarding.0.00\n"),
    ],
)
def test_an_id_that_is_none_is_refused(task_id: str) -> None:
    with pytest.raises(UnknownPlace, match=r"^task_id: "):
        TASKS.find(task_id)


def _with(instance: Instance, **changes: object) -> Instance:
    return Instance(**{**{name: getattr(instance, name) for name in instance.__dataclass_fields__}, **changes})
