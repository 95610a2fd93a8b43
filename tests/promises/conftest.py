"""Options and summary of the promises: the defect to inject, and the measurements."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings

from verification.defects import EPISODE_DEFECTS

Record = Callable[[str, object], None]
"""The fixture `record_property`, which records a measurement by name."""

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
    """Print the measurements, which tests record with `record_property`."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.getreports(outcome)]
    if measured := [pair for report in reports if report.when == "call" for pair in report.user_properties]:
        width = max(len(name) for name, _ in measured)
        terminalreporter.section("measured")
        for name, value in measured:
            terminalreporter.write_line(f"{name:<{width}}  {value}")
