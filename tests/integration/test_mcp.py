"""MCP over a real enterprise: the page's example unchanged, and the tools under chaos."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import requests
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

from tests.architecture.sources import ROOT
from tests.integration.http_episode import HttpEpisode

GATEWAY = "http://127.0.0.1:8000"
(EXAMPLE,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "mcp.md").read_text(), re.MULTILINE | re.DOTALL)


def test_the_example_of_the_page_runs_unchanged(url: str) -> None:
    assert GATEWAY in EXAMPLE
    command = [sys.executable, "-W", "error", "-c", EXAMPLE.replace(GATEWAY, url)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.splitlines()[-2:] == ["{'step': 1, 'reward': -0.1}", "1"]


@pytest.mark.parametrize("toolset", ["all", "task"])
async def test_under_chaos_tools_are_described_the_same_over_mcp_and_http(
    url: str, http: requests.Session, toolset: str
) -> None:
    episode = HttpEpisode(url, http)
    episode.reset(seed=3, chaos=4, chaos_overrides={"renamed_fields": 1.0, "reworded_tools": 1.0}, toolset=toolset)
    output = http.get(f"{url}/v1/tools", params={"episode_id": episode.id}).json()
    plain = {tool["name"]: tool["description"] for tool in http.get(f"{url}/v1/tools").json()}
    assert any(tool["description"] != plain[tool["name"]] for tool in output)
    async with Client(StreamableHttpTransport(f"{url}/v1/episodes/{episode.id}/mcp")) as client:
        listed = await client.list_tools()
    assert [(tool.name, tool.description, tool.inputSchema) for tool in listed] == [
        (tool["name"], tool["description"], tool["input_schema"]) for tool in output
    ]
