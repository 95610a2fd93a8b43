"""Imports OpenEnv without unused parts, which cuts the import from five seconds to a third of a second."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

_OPENENV = "openenv.core"
_TOOLKIT = "gradio"
_MCP_ENVIRONMENT = "openenv.core.env_server.mcp_environment"
_RUBRICS = "openenv.core.rubrics"
_PARTS = ("base", "containers")


def preload_openenv() -> None:
    """Import OpenEnv as if the toolkit of its web page were not installed, without FastMCP and without the model judge.

    Does nothing if OpenEnv or the toolkit is already imported. OpenEnv's own `/web` and `MCPEnvironment` in
    `openenv.core` are then unavailable in this process; `openenv.core.env_server.mcp_environment` and
    `openenv.core.rubrics` remain importable.
    """
    if _OPENENV in sys.modules or _TOOLKIT in sys.modules:
        return
    sys.modules[_TOOLKIT] = None  # type: ignore[assignment]  # marks a module as missing in the import system
    sys.modules[_MCP_ENVIRONMENT] = _DeferredMcpEnvironment(_MCP_ENVIRONMENT)
    try:
        import_module(_OPENENV)
    finally:
        del sys.modules[_TOOLKIT], sys.modules[_MCP_ENVIRONMENT]
    _preload_rubrics()


class _DeferredMcpEnvironment(ModuleType):
    """The one function that OpenEnv's server needs of its MCP environment, which imports FastMCP."""

    MCPEnvironment = None  # as OpenEnv has it where FastMCP is not installed

    @staticmethod
    def get_server_tools(mcp_server: Any) -> dict[str, Any]:
        """Return the tools of a FastMCP server by name."""
        tools: dict[str, Any] = import_module(_MCP_ENVIRONMENT).get_server_tools(mcp_server)
        return tools


def _preload_rubrics() -> None:
    """Import the modules of rubrics without executing their package, which imports the client of a model endpoint."""
    spec = None if _RUBRICS in sys.modules else find_spec(_RUBRICS)
    if spec is None:
        return
    sys.modules[_RUBRICS] = module_from_spec(spec)  # not executed until the package is imported
    try:
        for part in _PARTS:
            import_module(f"{_RUBRICS}.{part}")
    finally:
        del sys.modules[_RUBRICS]
