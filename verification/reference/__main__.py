"""`python -m verification.reference FOLDER`: writes scenarios.md and tools.md."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from companyos.contract import ToolSpec
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
    pages = {"scenarios.md": scenarios_page(catalogue()), "tools.md": tools_page(asyncio.run(_tools()))}
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{folder / name}\n")
    return 0


async def _tools() -> list[ToolSpec]:
    runtime = GatewayRuntime(Settings())
    async with runtime.running():
        return [
            ToolSpec(name=tool.name, description=tool.description, input_schema=tool.input_schema)
            for tool in runtime.engine().tools(None)
        ]


if __name__ == "__main__":
    sys.exit(main())
