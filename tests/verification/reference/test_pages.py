"""The generated pages contain the required information and no solution, and the committed ones are up to date."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from companyos.contract import ToolSpec
from companyos_gateway.api.scenario_info import readme_paragraphs
from companyos_gateway.chaos import Group, Kind, levels, profile_for
from companyos_gateway.engine.toolbox import Toolbox
from companyos_gateway.scenarios import catalogue
from tests.gateway.notes import NoteKeeping
from tests.scenarios.engine import open_engine
from verification.reference.__main__ import pages
from verification.reference.markdown import read_texts
from verification.reference.scenarios_page import GROUPS, scenarios_page
from verification.reference.tools_page import tools_page

ROOT = Path(__file__).parents[3]
FOLDERS = ROOT / "gateway/src/companyos_gateway/scenarios"


@pytest.fixture(scope="module")
def page_of_scenarios() -> str:
    return scenarios_page(catalogue())


@pytest.fixture
async def toolbox(tmp_path: Path) -> Toolbox:
    async with open_engine(tmp_path) as engine:
        return engine.toolbox


@pytest.fixture
def tools(toolbox: Toolbox) -> list[ToolSpec]:
    return [
        ToolSpec(name=tool.name, description=tool.description, input_schema=tool.input_schema)
        for tool in toolbox.select(None)
    ]


def _headings(page: str) -> Iterator[str]:
    yield from re.findall(r"^#+ (.*)$", page, re.MULTILINE)


def test_every_scenario_has_a_row_that_links_to_its_readme(page_of_scenarios: str) -> None:
    for name in catalogue():
        assert re.search(rf"^\| \[{name}\]\(.*/{name}/README\.md\) \| \w", page_of_scenarios, re.MULTILINE), name


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_the_readme_of_a_scenario_covers_success_difficulty_and_refusal(name: str) -> None:
    text = (FOLDERS / name / "README.md").read_text(encoding="utf-8")
    assert all(f"**{part}:**" in text for part in ("Success", "Difficulty", "Refusal"))


def test_every_kind_of_chaos_is_documented(page_of_scenarios: str) -> None:
    assert set(read_texts("kinds")) >= set(Kind)
    assert all(f"*{kind.replace('_', ' ')}*" in page_of_scenarios for kind in Kind)


def test_limits_and_rates_of_single_services_are_listed(page_of_scenarios: str) -> None:
    profile = profile_for(levels()[-1])
    for group in Group:
        section = page_of_scenarios.partition(f"| {GROUPS[group].lower()} |")[2].partition("\n\n")[0]
        kinds = profile.budget.kinds(group) or profile.budget.timeouts
        assert re.search(rf"^\| at most \| .*/{kinds} \|$", section, re.MULTILINE), group
    limited = profile.rates[Kind.RATE_LIMITED]
    (service, rate), *_ = limited.services.items()
    assert re.search(rf"/{100 * limited.rate:g}, {service} [\d./]+/{100 * rate:g} \|$", page_of_scenarios, re.MULTILINE)


def test_the_page_of_scenarios_contains_no_ids_of_an_instance(page_of_scenarios: str) -> None:
    assert not re.findall(r"\b[A-Z]{2,4}-[0-9]+", page_of_scenarios)
    assert not re.findall(r"\b[3-5][0-9]{9}\b", page_of_scenarios)


def test_a_scenario_without_a_readme_has_a_row_with_its_docstring() -> None:
    notes: Any = NoteKeeping()
    page = scenarios_page({"note_keeping": notes})
    assert "| Both notes have to be done; writing another one is collateral. |" in page


def test_the_prose_of_a_readme_ends_at_its_first_table() -> None:
    assert readme_paragraphs("# a\n\nOne.\n\nTwo.\n\n| a |\n|---|\n\nThree.\n") == ["One.", "Two."]


def test_every_tool_has_a_row_with_its_required_arguments(tools: list[ToolSpec]) -> None:
    page = tools_page(tools)
    for tool in tools:
        row = re.search(rf"^\| `{tool.name}` \| .*$", page, re.MULTILINE)
        assert row is not None, tool.name
        assert all(f"**{name}**" in row[0] for name in tool.input_schema.get("required", ()))


def test_links_inside_the_pages_have_targets(tools: list[ToolSpec], page_of_scenarios: str) -> None:
    for page in (page_of_scenarios, tools_page(tools)):
        headings = {heading.lower().replace(" ", "-") for heading in _headings(page)}
        assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= headings
    for link in re.findall(r"\]\((\.\./[^)]+)\)", page_of_scenarios):
        assert (ROOT / "docs" / link.partition("#")[0]).is_file(), link


async def test_the_pages_of_scenarios_and_tools_are_up_to_date(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as engine:
        written = pages(engine.tools(None))
    outdated = [name for name, text in written.items() if (ROOT / "docs" / name).read_text(encoding="utf-8") != text]
    assert not outdated, f"run `make docs`, which writes {outdated}"
