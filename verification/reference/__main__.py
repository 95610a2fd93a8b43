"""`python -m verification.reference FOLDER`: writes scenarios.md and tools.md."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from companyos.contract import ToolSpec
from companyos_gateway.engine.toolbox import Tool
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.scenarios import catalogue
from companyos_gateway.settings import Settings
from verification.reference.scenarios_page import scenarios_page
from verification.reference.tools_page import tools_page


def main(arguments: Sequence[str] | None = None) -> int:
    """Write both pages and print their names."""
    parser = argparse.ArgumentParser(prog="python -m verification.reference", description=__doc__)
    parser.add_argument("folder", type=Path, help="output folder")
    folder: Path = parser.parse_args(arguments).folder
    for name, text in pages(asyncio.run(_tools())).items():
        (folder / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{folder / name}\n")
    return 0


def pages(tools: Iterable[Tool]) -> dict[str, str]:
    """Return the text of each page by the name of its file."""
    listed = [ToolSpec(name=tool.name, description=tool.description, input_schema=tool.input_schema) for tool in tools]
    return {"scenarios.md": scenarios_page(catalogue()), "tools.md": tools_page(listed)}


async def _tools() -> list[Tool]:
    runtime = GatewayRuntime(Settings())
    async with runtime.running():
        return runtime.engine().tools(None)


if __name__ == "__main__":
    sys.exit(main())
