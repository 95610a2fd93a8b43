"""The MCP server: its tools are the stage's, and a call of one is a step. Importing this imports FastMCP's server."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import mcp.types
import orjson
from fastmcp import FastMCP
from fastmcp.server.dependencies import get_http_request
from fastmcp.server.http import StarletteWithLifespan
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool as ServedTool
from fastmcp.tools import ToolResult
from openenv.core.env_server.mcp_types import ToolErrorType

from companyos_gateway.engine.episode import VERSION
from companyos_gateway.engine.errors import EpisodeDoneError, GatewayError, InternalError, InvalidActionError
from companyos_gateway.engine.observations import StepObservation
from companyos_gateway.engine.toolbox import Tool
from companyos_gateway.server.house import House
from companyos_gateway.server.mcp_door import ASKED_SCOPE_KEY, OWN_TOOLS, McpAsked
from companyos_gateway.server.openenv_environment import ENVIRONMENT_NAME

INSTRUCTIONS = (
    "The tools of one episode in a simulated enterprise. Each call is a step, also one that fails. An answer holds the "
    "result, the simulated time in `now`, the steps that are left, and `done` once the episode is over."
)

_LIBRARIES = ("mcp", "fastmcp")
_log = logging.getLogger(__name__)


class ToolElsewhere(InvalidActionError):
    status, code, title = 422, "tool-elsewhere", "The tool is another server's"


class OfferedTool(ServedTool):
    """A tool exactly as OpenEnv's clients are told of it."""

    def to_mcp_tool(self, **overrides: Any) -> mcp.types.Tool:
        """Return the tool without the library's own marks."""
        return mcp.types.Tool(name=self.name, description=self.description, inputSchema=self.parameters)


class EpisodeTools(Middleware):
    """Answers listings and calls itself, for the episode that the request is about; nothing is registered."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def on_list_tools(
        self,
        context: MiddlewareContext[mcp.types.ListToolsRequest],
        call_next: CallNext[mcp.types.ListToolsRequest, Sequence[ServedTool]],
    ) -> Sequence[ServedTool]:
        """List the tools of the episode, or of the house; of one service where one is asked for."""
        asked = _asked()
        return [
            OfferedTool(name=tool.name, description=tool.description, parameters=tool.input_schema)
            for tool in self._house.engine().tools(asked.episode)
            if asked.service in (None, _server_of(tool))
        ]

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp.types.CallToolRequestParams],
        call_next: CallNext[mcp.types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Take a step; where none can be taken that is the result, and an error."""
        wanted = context.message
        try:
            return _told(await _taken(self._house, _asked(), wanted.name, wanted.arguments or {}))
        except GatewayError as problem:
            return _refused(problem)


def make_app(house: House) -> StarletteWithLifespan:
    """Make the ASGI app, which answers at `/`: without sessions, with plain JSON."""
    _make_quiet()
    server: FastMCP[Any] = FastMCP(
        ENVIRONMENT_NAME,
        INSTRUCTIONS,
        version=VERSION,
        middleware=[EpisodeTools(house)],
        dereference_schemas=False,
        strict_input_validation=False,
    )
    return server.http_app(path="/", stateless_http=True, json_response=True, host_origin_protection=False)


def _asked() -> McpAsked:
    asked: McpAsked = get_http_request().scope[ASKED_SCOPE_KEY]
    return asked


async def _taken(house: House, asked: McpAsked, name: str, arguments: dict[str, Any]) -> StepObservation:
    assert asked.episode is not None, "the door lets no call in that names none"
    tool = house.engine().toolbox.tool(name)
    if tool is not None and asked.service not in (None, _server_of(tool)):
        raise ToolElsewhere(f"The server {asked.service} has no {name}.")
    try:
        return await house.step(asked.episode, name, arguments)
    except EpisodeDoneError:
        raise EpisodeDoneError from None  # how it ended is no model's business
    except GatewayError:
        raise
    except Exception as bug:
        _log.exception("a call of %s failed", name)
        raise InternalError from bug


def _server_of(tool: Tool) -> str:
    return OWN_TOOLS if tool.operation is None else tool.operation.service


def _told(taken: StepObservation) -> ToolResult:
    """Return a step as the agent is told of it; its number and its reward, which are no model's business, beside it.

    The picture of a window is a content of its own.
    """
    told = taken.model_dump(exclude={"metadata", "tool_name", *(() if taken.error else ("error",))})
    pictures = [told["screenshot"].pop("png")] if "screenshot" in told else []
    result = _result(
        {**told, "done": taken.done}, is_error=not taken.is_carried_out, step=taken.step, reward=taken.reward
    )
    result.content.extend(mcp.types.ImageContent(type="image", data=png, mimeType="image/png") for png in pictures)
    return result


def _refused(problem: GatewayError) -> ToolResult:
    """Return that no step was taken, in the words of OpenEnv's errors."""
    error = {"error_type": ToolErrorType.EXECUTION_ERROR.value, "message": str(problem)}
    return _result({"result": None, "error": error}, is_error=True)


def _result(told: dict[str, Any], *, is_error: bool, **beside: Any) -> ToolResult:
    text = mcp.types.TextContent(type="text", text=orjson.dumps(told).decode())
    return ToolResult(content=[text], structured_content=told, meta=beside or None, is_error=is_error)


def _make_quiet() -> None:
    """Let the libraries speak through the log of the process, and not of every request."""
    for name in _LIBRARIES:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.WARNING)
