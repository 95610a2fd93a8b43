"""OpenEnv is imported without Gradio and FastMCP, which remain importable."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
import companyos.client
print(sorted({"gradio", "fastmcp", "openai"} & set(sys.modules)))
import importlib.util
print(importlib.util.find_spec("gradio") is not None)
from openenv.core.env_server.http_server import get_server_tools
from fastmcp import FastMCP
server = FastMCP("notes")
server.tool(lambda text: None, name="write")
print(list(get_server_tools(server)))
from openenv.core.env_server.mcp_environment import MCPEnvironment
print(MCPEnvironment.__name__)
"""


def test_a_client_imports_neither_gradio_nor_fastmcp_and_both_remain_importable() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "True", "['write']", "MCPEnvironment"]
