"""The committed pages of scenarios and tools are what `make docs` writes."""

from __future__ import annotations

from pathlib import Path

from tests.scenarios.engine import open_engine
from verification.reference.__main__ import pages

DOCS = Path(__file__).parents[3] / "docs"


async def test_the_pages_of_scenarios_and_tools_are_up_to_date(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as engine:
        written = pages(engine.tools(None))
    outdated = [name for name, text in written.items() if (DOCS / name).read_text(encoding="utf-8") != text]
    assert not outdated, f"run `make docs`, which writes {outdated}"
