"""Policies are found by entry points, and the error for an unknown one lists the available ones."""

from __future__ import annotations

import subprocess
import sys

import pytest

from companyos.policies import StepView, UnknownPolicyError, load_policy, policy_names
from tests.client.builders import a_step


def test_random_and_noop_are_installed() -> None:
    assert {"noop", "random"} <= set(policy_names())


def test_a_policy_has_the_name_of_its_entry_point() -> None:
    for name in policy_names():
        assert load_policy(name).name == name


def test_each_load_returns_a_new_policy() -> None:
    assert load_policy("random") is not load_policy("random")


def test_an_unknown_policy_is_rejected_with_the_installed_ones() -> None:
    with pytest.raises(UnknownPolicyError, match=r"'clever'.*noop.*random"):
        load_policy("clever")


def test_a_problem_body_is_distinguished_from_a_payload_with_a_status() -> None:
    problem = {"title": "The ticket is locked", "status": 409, "code": "ticket-locked", "type": "about:blank"}
    assert a_step(result=problem).problem == "ticket-locked"
    assert a_step(result=problem).is_refused
    assert a_step(result={"key": "OPS-1", "status": "open", "title": "Locked"}).problem is None
    assert not a_step(result=None).is_refused


def test_an_environment_error_is_a_rejection_without_a_problem() -> None:
    step: StepView = a_step(error="tool_not_found")
    assert step.is_refused
    assert step.problem is None


def test_the_client_imports_no_server_code() -> None:
    code = (
        "import sys, companyos.client, companyos.runner, companyos.policies.random, companyos.cli.main\n"
        "print([name for name in sys.modules if name.startswith('companyos_') and 'shared' not in name])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
