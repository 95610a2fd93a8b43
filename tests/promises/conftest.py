"""Summary of the promises: the measurements."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Record = Callable[[str, object], None]
"""The fixture `record_property`, which records a measurement by name."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the measurements, which tests record with `record_property`."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.getreports(outcome)]
    if measured := [pair for report in reports if report.when == "call" for pair in report.user_properties]:
        width = max(len(name) for name, _ in measured)
        terminalreporter.section("measured")
        for name, value in measured:
            terminalreporter.write_line(f"{name:<{width}}  {value}")
