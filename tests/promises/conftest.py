"""Options and summary of the promises: the defect to inject, and the measurements."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.promises.measurements import figures, table_of
from verification.defects import EPISODE_DEFECTS

__all__ = ["figures"]

settings.register_profile(
    "nightly",
    max_examples=500,
    stateful_step_count=40,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option that injects a defect, to check that it is found."""
    parser.addoption(
        "--defect", choices=sorted(EPISODE_DEFECTS), help="inject a defect that the state machine has to find"
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the measurements."""
    outcomes = ("passed", "failed")
    reports = [report for outcome in outcomes for report in terminalreporter.getreports(outcome)]
    if lines := table_of([report for report in reports if report.when == "call"]):
        terminalreporter.section("measured")
        for line in lines:
            terminalreporter.write_line(line)
