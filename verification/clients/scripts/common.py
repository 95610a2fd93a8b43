"""Helpers for the driver scripts; standard library only. A script makes three calls and prints one line."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version

CALLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("ticketdesk_list_tickets", {"limit": 1}),
    ("datahub_list_sources", {}),
    ("wait", {"minutes": 5}),
)
SEED = 3


def read_arguments() -> tuple[str, str]:
    """Return the address of the gateway and the id of the episode."""
    url, episode = sys.argv[1:]
    return url, episode


def server(url: str, episode: str) -> tuple[str, dict[str, str]]:
    """Return the address of the MCP server and the header with the episode id."""
    return f"{url}/v1/mcp", {"X-CompanyOS-Episode": episode}


def steps_left(text: str) -> int:
    """Return the remaining steps from a response."""
    return int(json.loads(text)["steps_left"])


def print_report(distribution: str, tools: int, left: int | None = None, *, steps: int | None = None) -> None:
    """Print the report, with the steps left in the last response or the steps that the client counted."""
    print(json.dumps({"version": version(distribution), "tools": tools, "steps_left": left, "steps": steps}))
