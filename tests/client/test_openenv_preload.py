"""OpenEnv is imported without Gradio, FastMCP and its web server, which remain importable."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.integration

HEAVY = """
import sys
import companyos.client, companyos.report, companyos.trainer, companyos.viewer
print(sorted({"gradio", "fastmcp", "openai", "fastapi", "uvicorn", "huggingface_hub"} & set(sys.modules)))
"""
FASTMCP = """
import companyos.client
from openenv.core.env_server.http_server import get_server_tools
from fastmcp import FastMCP
server = FastMCP("notes")
server.tool(lambda text: None, name="write")
print(list(get_server_tools(server)), list(get_server_tools(server)))
from openenv.core.env_server.mcp_environment import MCPEnvironment, get_server_tools as executed
print(MCPEnvironment.__name__, executed is get_server_tools)
"""
PACKAGES = """
import sys
sys.modules["gradio"] = None  # imports as if it were not installed, which is quicker
import companyos.client
import openenv.core.env_server.types
import openenv.core.client_types
print(hasattr(openenv.core, "__wrapped__"), hasattr(openenv.core, "no_such_name"))
from openenv.core import *
from openenv.core import EnvClient, Observation
from companyos.contract import CompanyOSObservation
print(issubclass(CompanyOSObservation, Observation), issubclass(companyos.client.CompanyOSEnv, EnvClient))
print(openenv.core.env_server.types.Observation is Observation, HTTPEnvServer.__name__)
print(hasattr(openenv.core.env_server, "no_such_name"), type(openenv.core.env_server).__name__)
"""
THREADS = """
import sys
sys.modules["gradio"] = None
from concurrent.futures import ThreadPoolExecutor
import companyos.contract
import openenv.core
names = ["EnvClient", "HTTPEnvServer", "Observation", "create_app"] * 8
with ThreadPoolExecutor(32) as pool:
    print({found.__name__ for found in pool.map(lambda name: getattr(openenv.core, name), names)} == set(names))
"""
NOT_INSTALLED = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "fastapi":
            raise ModuleNotFoundError("No module named 'fastapi'", name="fastapi")
sys.meta_path.insert(0, Missing())
import companyos.client
import openenv.core
for _ in range(2):
    try:
        openenv.core.HTTPEnvServer
    except ModuleNotFoundError as error:
        print(error)
"""


def output_of(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_client_a_report_and_the_viewer_import_neither_gradio_nor_fastmcp_nor_a_web_server() -> None:
    assert output_of(HEAVY) == ["[]"]


def test_fastmcp_is_imported_when_a_server_lists_its_tools() -> None:
    assert output_of(FASTMCP) == ["['write'] ['write']", "MCPEnvironment False"]


def test_a_package_is_executed_when_one_of_its_names_is_used() -> None:
    assert output_of(PACKAGES) == ["False False", "True True", "True HTTPEnvServer", "False module"]


def test_threads_that_use_a_package_at_once_see_a_complete_module() -> None:
    assert output_of(THREADS) == ["True"]


def test_a_missing_dependency_of_a_package_is_reported_each_time() -> None:
    assert output_of(NOT_INSTALLED) == ["No module named 'fastapi'"] * 2
