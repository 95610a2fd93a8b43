"""Requirements of every scenario, checked on its plans."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys

import pytest

from companyos_gateway.chaos import profile_for
from companyos_gateway.evaluation import Evidence, FinishDeclaration, row_views
from companyos_gateway.evaluation.milestones import MAX_MILESTONE_POINTS
from companyos_gateway.scenarios import Scenario, catalogue
from companyos_gateway.scenarios.blocks.declared_scenario import DeclaredScenario
from companyos_gateway.scenarios.validation import brief_problems
from companyos_gateway.world.splits import HELD_OUT
from companyos_gateway.world.splits import SEEDS as SEEDS_OF_SPLITS
from companyos_shared.wire.company import Company
from tests.scenarios.engine import initial_rows, planned
from verification.in_process import installed_services

pytestmark = pytest.mark.matrix

SEEDS = range(3)
LEVELS = range(5)
PRINT_SOURCES = """
import sys
from companyos_gateway.scenarios import catalogue
for name, scenario in sorted(catalogue().items()):
    print(sorted(scenario.plan(9, 3).source_ids.items()))
"""


@pytest.fixture(params=sorted(catalogue()))
def scenario(request: pytest.FixtureRequest) -> Scenario:
    return catalogue()[request.param]


def test_a_seed_gives_the_same_instance_in_every_process() -> None:
    found = set()
    for hash_seed in ("0", "19"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": "America/Lima"}
        done = subprocess.run(
            [sys.executable, "-c", PRINT_SOURCES], env=environment, capture_output=True, text=True, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1
    assert str(sorted(catalogue()["vendor_onboarding"].plan(9, 3).source_ids.items())) in found.pop()


def test_documents_are_plain_json(scenario: Scenario) -> None:
    for document in scenario.plan(2, 2).documents.values():
        assert json.loads(json.dumps(document)) == document


def test_every_service_accepts_its_document(scenario: Scenario) -> None:
    services = installed_services()
    for level in LEVELS:
        instance = scenario.plan(40 + level, level)
        assert set(instance.documents) <= set(services)
        for service, document in instance.documents.items():
            services[service].seed.model_validate(document)


@pytest.mark.parametrize("level", LEVELS)
def test_an_instance_is_consistent(scenario: Scenario, level: int) -> None:
    for seed in SEEDS:
        instance = planned(scenario.name, seed, level)
        documents = instance.documents
        company = Company.model_validate(next(iter(documents.values()))["company"])
        keys = {ticket["key"] for ticket in documents[row_views.TICKETDESK]["tickets"]}
        assert keys & set(re.findall(r"[A-Z]+-[0-9]+", instance.brief)), instance.brief
        assert len({json.dumps(document["company"]) for document in documents.values()}) == 1
        assert company.name == instance.company_name
        assert company.agent_id == instance.acting_as
        assert company.is_working_day(instance.started_at.date())
        rows = sum(len(table) for tables in initial_rows(documents).values() for table in tables.values())
        assert 300 <= rows <= 800
        assert (instance.scenario, instance.seed, instance.chaos) == (scenario.name, seed, level)


@pytest.mark.parametrize("level", LEVELS)
def test_doing_nothing_fails_and_the_goal_checks_are_known_in_advance(scenario: Scenario, level: int) -> None:
    done = FinishDeclaration(outcome="done", summary="")
    for seed in SEEDS:
        instance = planned(scenario.name, seed, level)
        evidence = Evidence(initial_rows(instance.documents))
        verdict = instance.rubric.judge(evidence, None)
        assert not verdict.success
        assert not instance.rubric.judge(evidence, done).success
        assert verdict.potential == 0
        assert (verdict.damage, verdict.rejections) == ((), 0)
        passed = {check.id: check.passed for check in verdict.checks}
        assert len(passed) == len(verdict.checks)
        for check in instance.rubric.checks:
            assert passed[check.id] == check.passes_idle, check.id


def test_milestones_are_worth_at_most_nine(scenario: Scenario) -> None:
    for seed in SEEDS:
        points = math.fsum(one.points for one in planned(scenario.name, seed, 2).rubric.milestones)
        assert 0 < points <= MAX_MILESTONE_POINTS


def test_briefs_are_paraphrased(scenario: Scenario) -> None:
    starts = {split: SEEDS_OF_SPLITS[split].start for split in HELD_OUT}
    seeds = {None: range(12)} | {split: range(start, start + 8) for split, start in starts.items()}
    shapes = {
        split: {re.sub(r"[A-Z]+-[0-9]+", "KEY", planned(scenario.name, seed, 1).brief) for seed in own}
        for split, own in seeds.items()
    }
    assert len(set().union(*shapes.values())) == sum(map(len, shapes.values())) >= 6
    assert len(shapes[None]) >= 3
    assert [len(shapes[split]) for split in HELD_OUT] == [1, 2]


def test_the_scenarios_tools_exist_in_the_services(scenario: Scenario) -> None:
    instance = scenario.plan(1, 1)
    assert len(set(instance.task_tools)) == len(instance.task_tools)
    assert all(tool.split("_")[0] in instance.documents for tool in instance.task_tools)


def test_a_task_toolset_has_the_required_tools_and_drawn_distractors(scenario: Scenario) -> None:
    assert isinstance(scenario, DeclaredScenario)
    needed, distractors = set(scenario.tools), set(scenario.distractors)
    assert not needed & distractors
    offered = [set(scenario.offered_tools(seed)) for seed in range(24)]
    assert all(needed <= tools for tools in offered)
    assert set().union(*offered) == needed | distractors
    assert all(2 * len(tools - needed) >= len(scenario.distractors) >= 2 for tools in offered)
    assert len({frozenset(tools) for tools in offered}) > 1


def test_no_document_contains_the_seed(scenario: Scenario) -> None:
    seed = 918_273_645
    instance = scenario.plan(seed, 2)
    for document in instance.documents.values():
        visible = {name: value for name, value in document.items() if name != "draw_seed"}
        assert str(seed) not in json.dumps(visible)
        assert str(seed) not in document["draw_seed"]


def test_a_seed_gives_the_same_company_at_every_level(scenario: Scenario) -> None:
    companies = [scenario.plan(8, level) for level in LEVELS]
    assert len({(one.company_name, one.acting_as, one.started_at) for one in companies}) == 1


def test_higher_levels_have_more_injections(scenario: Scenario) -> None:
    affected = [sum(len(planned(scenario.name, seed, level).injections) for seed in SEEDS) for level in LEVELS]
    assert affected == sorted(affected)
    assert affected[0] == 0 < affected[1] < affected[4]


def test_every_injection_names_its_entity(scenario: Scenario) -> None:
    for seed in SEEDS:
        assert all(injection.entity for injection in planned(scenario.name, seed, 4).injections)


def test_a_scenario_has_at_least_three_structures(scenario: Scenario) -> None:
    assert isinstance(scenario, DeclaredScenario)
    seen: set[str] = set()
    for seed in range(40):
        seen.add(scenario.build(seed, profile_for(2), {}).case.variant.value)
        if len(seen - scenario.held_out) >= 2 and scenario.held_out <= seen and scenario.held_out:
            return
    pytest.fail(f"{scenario.name}: {sorted(seen)} in 40 seeds, of which {sorted(scenario.held_out)} are held out")


def test_no_brief_names_a_fact_that_has_to_be_found(scenario: Scenario) -> None:
    assert isinstance(scenario, DeclaredScenario)
    starts = [0, *(SEEDS_OF_SPLITS[split].start for split in HELD_OUT)]
    for seed in [start + number for start in starts for number in range(4)]:
        built = scenario.build(seed, profile_for(2), {})
        assert not list(brief_problems(built.brief, built.world, built.case.ticket_key))
