"""Code mutants: every change is one, stands in for its module for a while, and leaves nothing behind."""

from __future__ import annotations

import ast
import inspect

import pytest

from companyos_gateway.episode import outcome
from companyos_gateway.proof.code.corpus import ledgers
from companyos_gateway.proof.code.mutants import Mutant, mutants_of, mutated
from companyos_gateway.proof.code.patching import in_place_of
from companyos_gateway.proof.code.trial import REWARD, modules_of, tried
from companyos_gateway.scenarios import catalogue

SOURCE = '''
"""A module."""
LIMIT = 3


def judge(value: int, names: list[str]) -> bool:
    """Say whether it holds; 7 is no number of the code."""
    if value == 1 and not names:
        return any(name in "abc" for name in names)
    return value + LIMIT > 2
'''


def test_every_change_is_another_module_and_texts_are_left_alone() -> None:
    found = mutants_of("tiny", SOURCE)
    changed = [ast.unparse(mutated(SOURCE, one)) for one in found]
    assert len(set(changed)) == len(changed) == len(found)
    assert ast.unparse(ast.parse(SOURCE)) not in changed
    assert {"`3` -> `4`", "`value == 1` -> `value != 1`", "`not names` -> `names`"} <= {one.change for one in found}
    assert all("7 is no number" in text and "'abc'" in text for text in changed)


def test_a_mutant_stands_in_and_leaves_nothing_behind() -> None:
    source = inspect.getsource(outcome)
    cost = next(one for one in mutants_of(REWARD, source) if one.change == "`0.1` -> `1.1`")
    before, paid = outcome.STEP_COST, ledgers()
    with in_place_of(outcome, mutated(source, cost)):
        assert pytest.approx(before + 1) == outcome.STEP_COST
        assert ledgers() != paid
    assert (outcome.STEP_COST, ledgers()) == (before, paid)


def test_mutants_of_rewards_are_killed_by_drawn_ledgers() -> None:
    found = [one for one in mutants_of(REWARD, inspect.getsource(outcome)) if one.line > 60][::4]
    paid = ledgers()
    survivors = [one.place for one in found if not tried(one, [], paid).killed]
    assert len(survivors) <= 0.15 * len(found), survivors


def test_what_is_shared_is_tried_with_all_scenarios_alone() -> None:
    shared = "companyos_gateway.rubrics.workflow"
    assert shared in modules_of(sorted(catalogue()))
    assert modules_of(["bug_escalation"]) == ["companyos_gateway.scenarios.bug_escalation.rubric", REWARD]


def test_a_mutant_says_where_it_is() -> None:
    assert Mutant("companyos_gateway.rubrics.tickets", 3, 41, "`a` -> `b`").place == "rubrics.tickets:41 `a` -> `b`"
