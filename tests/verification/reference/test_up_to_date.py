"""What `make docs` writes is what is there."""

from __future__ import annotations

from pathlib import Path

from companyos.contract import ToolSpec
from companyos_gateway.scenarios import catalogue
from tests.scenarios.engine import open_engine
from verification.reference.scenarios_page import scenarios_page
from verification.reference.tools_page import tools_page

DOCS = Path(__file__).parents[3] / "docs"
REMEDY = "`make docs` writes it anew"


def test_the_page_of_scenarios_is_what_the_code_says() -> None:
    assert (DOCS / "scenarios.md").read_text() == scenarios_page(catalogue()), REMEDY


async def test_the_page_of_tools_is_what_the_services_offer(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as stage:
        tools = [
            ToolSpec(name=tool.name, description=tool.description, input_schema=tool.input_schema)
            for tool in stage.tools(None)
        ]
    assert (DOCS / "tools.md").read_text() == tools_page(tools), REMEDY
