"""Imports modules of OpenEnv without the packages around them, whose dependencies take seconds to import."""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any

_MCP_ENVIRONMENT = "openenv.core.env_server.mcp_environment"
_DEFERRED = ("openenv.core", "openenv.core.env_server", "openenv.core.rubrics", _MCP_ENVIRONMENT)
_execution = RLock()


def preload_openenv() -> None:
    """Defer the execution of OpenEnv's packages, and of its MCP environment, until one of their names is used.

    They import Gradio, FastMCP, FastAPI and OpenAI. The other modules of OpenEnv have fewer dependencies and are
    imported as usual. Does nothing if OpenEnv is already imported. Raises ModuleNotFoundError if it is not installed.
    """
    if _DEFERRED[0] in sys.modules:
        return
    for name in _DEFERRED:
        _defer(name)
    vars(sys.modules[_MCP_ENVIRONMENT])["get_server_tools"] = _get_server_tools


class _DeferredModule(ModuleType):
    """Module that is executed on the first access to a name that it does not contain yet."""

    def __getattr__(self, name: str) -> Any:
        is_introspection = name.startswith("__") and name != "__all__"
        with _execution:
            if is_introspection or "_is_executing" in vars(self):
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
            if type(self) is _DeferredModule:
                self._execute()
        return getattr(self, name)

    def _execute(self) -> None:
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        vars(self)["_is_executing"] = True
        try:
            spec.loader.exec_module(self)
        finally:
            del vars(self)["_is_executing"]
        self.__class__ = ModuleType  # type: ignore[assignment]


def _defer(name: str) -> None:
    spec = find_spec(name)
    assert spec is not None
    sys.modules[name] = module = module_from_spec(spec)
    module.__class__ = _DeferredModule
    parent, _, child = name.rpartition(".")
    vars(sys.modules[parent])[child] = module  # like an import


def _get_server_tools(mcp_server: Any) -> dict[str, Any]:
    """Execute the MCP environment, which imports FastMCP, and return the tools of a FastMCP server by name."""
    module = sys.modules[_MCP_ENVIRONMENT]
    assert module.MCPEnvironment
    tools: dict[str, Any] = module.get_server_tools(mcp_server)
    return tools
