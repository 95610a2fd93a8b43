"""Fail-points: a process exits at the configured place and pass, and nowhere else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from companyos_shared.failpoints import VARIABLE, parse_failpoint

PASSES = "from companyos_shared.failpoints import failpoint\nfor n in '123': failpoint('a.b'); print(n, flush=True)"


def _run(setting: str | None) -> tuple[int, str]:
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    if setting is not None:
        environment[VARIABLE] = setting
    done = subprocess.run([sys.executable, "-c", PASSES], env=environment, capture_output=True, text=True, timeout=30)
    return done.returncode, done.stdout.replace("\n", "")


@pytest.mark.parametrize("setting", [None, "", "a.c", "a.b:4"])
def test_a_process_without_a_matching_failpoint_continues(setting: str | None) -> None:
    assert _run(setting) == (0, "123")


@pytest.mark.parametrize(("setting", "survived"), [("a.b", ""), ("a.b:1", ""), ("a.b:3", "12")])
def test_a_process_is_killed_at_the_configured_failpoint(setting: str, survived: str) -> None:
    assert _run(setting) == (-signal.SIGKILL, survived)


@pytest.mark.parametrize("setting", ["a.b:", "a.b:0", "a.b:x", ":2"])
def test_an_invalid_failpoint_setting_is_rejected(setting: str) -> None:
    with pytest.raises(ValueError, match="name:nth"):
        parse_failpoint(setting)
