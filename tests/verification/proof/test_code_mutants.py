"""Code mutants: each changes one place, replaces its module temporarily, and is undone."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from companyos_gateway.engine import reward
from companyos_gateway.evaluation import answers
from companyos_gateway.evaluation.answers import is_same_answer
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.blocks.task import RubricFactory
from tests.scenarios.engine import open_engine
from verification.proof.code_mutation.call_tracing import trace_calls
from verification.proof.code_mutation.corpus import CorpusTask, instance_seeds, random_traces, task_of
from verification.proof.code_mutation.mutant_runner import (
    REWARD,
    MutantRunner,
    differing_seeds,
    modules_of,
    mutants_for,
    source_of,
)
from verification.proof.code_mutation.mutants import Mutant, apply_mutant, mutants_of, reasons
from verification.proof.code_mutation.patching import mutant_in_place
from verification.proof.players.oracles import MUTATION_LEVEL

pytestmark = pytest.mark.matrix

SOURCE = '''
"""A module."""
LIMIT = 3


def judge(value: int, names: list[str]) -> bool:
    """Say whether it holds; 7 is not a number in the code."""
    if value == 1 and not names:
        return any(name in "abc" for name in names)
    return value + LIMIT > 2
'''


def test_every_mutant_changes_the_module_but_no_text() -> None:
    found = mutants_of("tiny", SOURCE)
    changed = [ast.unparse(apply_mutant(SOURCE, one)) for one in found]
    assert len(set(changed)) == len(changed) == len(found)
    assert ast.unparse(ast.parse(SOURCE)) not in changed
    assert {"`3` -> `4`", "`value == 1` -> `value != 1`", "`not names` -> `names`"} <= {one.change for one in found}
    assert all("7 is not a number" in text and "'abc'" in text for text in changed)


def test_a_mutant_replaces_the_module_and_is_removed_completely() -> None:
    source = inspect.getsource(reward)
    cost = next(one for one in mutants_of(REWARD, source) if one.change == "`0.1` -> `1.1`")
    before, expected = reward.STEP_COST, random_traces()
    with mutant_in_place(reward, apply_mutant(source, cost)):
        assert pytest.approx(before + 1) == reward.STEP_COST
        assert random_traces() != expected
    assert (reward.STEP_COST, random_traces()) == (before, expected)


def test_mutants_of_rewards_are_killed_by_random_traces() -> None:
    found = [one for one in mutants_of(REWARD, inspect.getsource(reward)) if one.line > 60][::4]
    runner = MutantRunner([], random_traces())
    assert [one.place for one in found if not runner.run_mutant(one).killed] == []


@pytest.mark.timeout(600)
def test_shared_code_is_mutated_only_with_all_scenarios() -> None:
    shared = "companyos_gateway.evaluation.outcome_rubric"
    assert shared in modules_of(sorted(catalogue()))
    assert modules_of(["bug_escalation"]) == ["companyos_gateway.scenarios.bug_escalation.scenario", REWARD]


def test_a_mutant_states_its_location() -> None:
    assert (
        Mutant("companyos_gateway.evaluation.ticket_checks", 3, 41, "`a` -> `b`").place
        == "evaluation.ticket_checks:41 `a` -> `b`"
    )


def test_feasible_and_refused_instances_alternate_and_cover_every_reason_first() -> None:
    plan, seeds = catalogue()["hiring_approval"].plan, instance_seeds("hiring_approval", 4)
    cases = [cast(RubricFactory, plan(seed, MUTATION_LEVEL).build_rubric).case for seed in seeds]
    assert [case.must_refuse for case in cases] == [False, True] * 4
    assert len({case.facts.ground for case in cases if case.must_refuse}) == 4
    assert len({case.variant for case in cases if not case.must_refuse}) == 4


def test_executed_functions_are_recorded() -> None:
    with trace_calls() as ran:
        is_same_answer(1.0, 1.0)
    assert ran == {(answers.__file__, is_same_answer.__code__.co_firstlineno)}
    assert sys.gettrace() is None


def test_every_explanation_matches_exactly_one_mutant() -> None:
    keys = [one.key for one in mutants_for(sorted(catalogue()))]
    assert [key for key in reasons() if keys.count(key) != 1] == []


async def _task(folder: Path, scenario: str = "handbook_update", seed: int = 26, most: int = 40) -> CorpusTask:
    async with open_engine(folder) as engine:
        return await task_of(engine, scenario, seed, most=most)


PRINT_VERDICTS = f"""
import asyncio, pathlib, sys
from {__name__} import _task
print([case.summary for case in asyncio.run(_task(pathlib.Path(sys.argv[1]))).cases])
"""


@pytest.mark.integration
def test_a_task_has_the_same_cases_in_every_process(tmp_path: Path) -> None:
    found = set()
    for hash_seed in ("0", "19"):
        command = [sys.executable, "-c", PRINT_VERDICTS, str(tmp_path / hash_seed)]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        found.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(found) == 1


def test_stored_final_states_distinguish_a_mutant_from_the_original_rubric(tmp_path: Path) -> None:
    task = asyncio.run(_task(tmp_path, "vendor_bank_change", 48))
    name = "companyos_gateway.scenarios.vendor_bank_change.scenario"
    assert not any(case.differs(task.build_rubric()) for case in task.cases)
    found = mutants_of(name, source_of(name))
    runner = MutantRunner([task], random_traces())
    assert any(runner.run_mutant(one).killed for one in found)
    assert not any(case.differs(task.build_rubric()) for case in task.cases)


def test_targeted_final_states_kill_mutants_that_random_ones_rarely_kill(tmp_path: Path) -> None:
    refused = asyncio.run(_task(tmp_path, "vendor_bank_change", 48, most=0))
    name = "companyos_gateway.scenarios.vendor_bank_change.scenario"
    bank_mutants = [one for one in mutants_of(name, source_of(name)) if "bank_iban" in one.text and one.function]
    module_name = "companyos_gateway.evaluation.approval_requests"
    approval_mutants = [
        one for one in mutants_of(module_name, source_of(module_name)) if one.function == "active_requests"
    ]
    runner = MutantRunner([refused], ())
    assert len(bank_mutants) > 1
    assert [
        one.place
        for one in (*bank_mutants, *approval_mutants)
        if one.function_line and not runner.run_mutant(one).killed
    ] == []


def test_seeds_are_found_in_which_a_scenario_mutant_makes_a_difference(tmp_path: Path) -> None:
    name = "companyos_gateway.scenarios.employee_offboarding.scenario"
    change = (
        "`kit.PRIORITIES.index(ticket.priority) >= lead_from` -> `kit.PRIORITIES.index(ticket.priority) > lead_from`"
    )
    mutant = next(one for one in mutants_of(name, source_of(name)) if one.change == change)
    seed = differing_seeds(mutant)[0]
    task = asyncio.run(_task(tmp_path, mutant.scenario, seed))
    assert MutantRunner([task], random_traces()).run_mutant(mutant).killed


def test_shared_code_and_equivalent_mutants_have_no_differing_seeds() -> None:
    shared = mutants_of(answers.__name__, source_of(answers.__name__))[0]
    explained = next(one for one in mutants_for(["budget_transfer"]) if one.key in reasons())
    assert differing_seeds(shared) == differing_seeds(explained) == []
