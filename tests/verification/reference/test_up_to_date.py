"""The committed pages list every scenario, kind of chaos and tool. `make docs` regenerates them."""

from __future__ import annotations

from pathlib import Path

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios import catalogue
from tests.scenarios.engine import open_engine

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_of_scenarios_lists_every_scenario_and_kind() -> None:
    page = (DOCS / "scenarios.md").read_text()
    assert [name for name in catalogue() if f"| [{name}](" not in page] == []
    assert [kind for kind in Kind if f"*{kind.replace('_', ' ')}*" not in page] == []


async def test_the_page_of_tools_lists_every_tool(tmp_path: Path) -> None:
    page = (DOCS / "tools.md").read_text()
    async with open_engine(tmp_path) as engine:
        assert [tool.name for tool in engine.tools(None) if f"| `{tool.name}` |" not in page] == []
