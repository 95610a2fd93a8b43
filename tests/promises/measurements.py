"""Measurements of tests, printed at the end of the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

PROPERTY = "figure"


@dataclass
class Measurements:
    """The measurements of one test by name, in the order of recording."""

    request: pytest.FixtureRequest

    def record(self, name: str, value: object) -> None:
        """Record a measurement in the test's report, which also works for other processes."""
        self.request.node.user_properties.append((PROPERTY, (name, str(value))))


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Measurements:
    """Provide the measurements of a test."""
    return Measurements(request)


def table_of(reports: list[Any]) -> list[str]:
    """Return the measurements in reports as the lines of a table."""
    recorded = [value for report in reports for name, value in report.user_properties if name == PROPERTY]
    width = max((len(name) for name, _ in recorded), default=0)
    return [f"{name:<{width}}  {value}" for name, value in recorded]
