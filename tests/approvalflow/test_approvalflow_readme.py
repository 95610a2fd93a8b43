"""The README names every tool and every code."""

from __future__ import annotations

from pathlib import Path

import companyos_approvalflow.main  # noqa: F401 - brings in every Problem of the service
from companyos_shared.chassis import Problem
from tests.approvalflow.test_approval_tools import TOOLS

README = (Path(__file__).parents[2] / "services" / "approvalflow" / "README.md").read_text()


def _codes(kind: type[Problem] = Problem) -> dict[str, int]:
    found = {below.code: below.status for below in kind.__subclasses__() if "approvalflow" in below.__module__}
    for below in kind.__subclasses__():
        found |= _codes(below)
    return found


def test_the_readme_names_every_problem_code() -> None:
    codes = _codes()
    assert len(codes) > 30
    assert [code for code in codes if f"`{code}`" not in README] == []


def test_the_readme_names_every_tool() -> None:
    assert [tool for tool in TOOLS if f"`{tool}`" not in README] == []
