"""The MCP server: lists the tools of an episode and takes a step per call. Imports FastMCP, which is slow."""

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

from companyos_gateway.api.mcp_target import OWN_TOOLS, TARGET_SCOPE_KEY, McpTarget
from companyos_gateway.api.openenv_environment import ENVIRONMENT_NAME
from companyos_gateway.api.tools import McpTool, mcp_tool
from companyos_gateway.engine.episode import VERSION
from companyos_gateway.engine.errors import EpisodeDoneError, GatewayError, InternalError, InvalidActionError
from companyos_gateway.engine.observations import StepObservation
from companyos_gateway.engine.toolbox import Tool
from companyos_gateway.middleware.json_rpc import MCP_METHODS
from companyos_gateway.runtime import GatewayRuntime

INSTRUCTIONS = (
    "The tools of one episode in a simulated enterprise. Each call is a step, even if it fails. A response contains "
    "the result, the simulated time in `now`, the remaining steps in `steps_left`, and `done` once the episode is over."
)

_LIBRARIES = ("mcp", "fastmcp")
_log = logging.getLogger(__name__)


class ToolOnOtherServerError(InvalidActionError):
    status, code, title = 422, "tool-not-on-server", "Tool not available on this server"


class UnmodifiedTool(ServedTool):
    """A tool as `/v1/tools?format=mcp` lists it."""

    listed: McpTool

    def to_mcp_tool(self, **overrides: Any) -> mcp.types.Tool:
        """Return the tool without the metadata that FastMCP adds."""
        return mcp.types.Tool.model_validate(self.listed.model_dump())


class EpisodeTools(Middleware):
    """Middleware that lists and calls the tools of the request's episode. No tool is registered with FastMCP."""

    def __init__(self, runtime: GatewayRuntime) -> None:
        self._runtime = runtime

    async def on_list_tools(
        self,
        context: MiddlewareContext[mcp.types.ListToolsRequest],
        call_next: CallNext[mcp.types.ListToolsRequest, Sequence[ServedTool]],
    ) -> Sequence[ServedTool]:
        """List the tools of the episode, or all tools without an episode, filtered by service if there is one."""
        target = _target()
        return [
            UnmodifiedTool(name=tool.name, parameters=tool.input_schema, listed=mcp_tool(tool))
            for tool in self._runtime.engine().tools(target.episode)
            if target.service in (None, _server_name(tool))
        ]

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp.types.CallToolRequestParams],
        call_next: CallNext[mcp.types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Take a step; errors of the gateway become an error result."""
        message = context.message
        try:
            target = _target()
            observation = await _step(self._runtime, target, message.name, message.arguments or {})
            return _to_tool_result(observation, with_reward=target.with_reward)
        except GatewayError as problem:
            return _error_result(problem)


def make_app(runtime: GatewayRuntime) -> StarletteWithLifespan:
    """Return the ASGI app, mounted at `/`, stateless and with JSON responses."""
    _quieten_libraries()
    server: FastMCP[Any] = FastMCP(
        ENVIRONMENT_NAME,
        INSTRUCTIONS,
        version=VERSION,
        middleware=[EpisodeTools(runtime)],
        dereference_schemas=False,
        strict_input_validation=False,
    )
    handlers: dict[Any, Any] = server._mcp_server.request_handlers  # FastMCP has no option for it
    for request in list(handlers):
        if request.model_fields["method"].default not in MCP_METHODS:
            del handlers[request]  # otherwise it would announce prompts and resources
    return server.http_app(path="/", stateless_http=True, json_response=True, host_origin_protection=False)


def _target() -> McpTarget:
    target: McpTarget = get_http_request().scope[TARGET_SCOPE_KEY]
    return target


async def _step(runtime: GatewayRuntime, target: McpTarget, name: str, arguments: dict[str, Any]) -> StepObservation:
    assert target.episode is not None, "McpEndpoint rejects calls without an episode"
    tool = runtime.engine().toolbox.tool(name)
    if tool is not None and target.service not in (None, _server_name(tool)):
        raise ToolOnOtherServerError(f"The server {target.service} has no tool {name}.")
    try:
        return await runtime.step(target.episode, name, arguments)
    except EpisodeDoneError:
        raise EpisodeDoneError from None  # hides the outcome from the model
    except GatewayError:
        raise
    except Exception as error:
        _log.exception("MCP call of %s failed", name)
        raise InternalError from error


def _server_name(tool: Tool) -> str:
    return OWN_TOOLS if tool.operation is None else tool.operation.service


def _to_tool_result(observation: StepObservation, *, with_reward: bool) -> ToolResult:
    """Return a step as a tool result, with step number and reward in the metadata; without reward for an agent.

    A screenshot becomes an image content block.
    """
    content = observation.model_dump(exclude={"metadata", "tool_name", *(() if observation.error else ("error",))})
    images = [content["screenshot"].pop("png")] if "screenshot" in content else []
    result = _result(
        {**content, "done": observation.done},
        is_error=not observation.is_carried_out,
        step=observation.step,
        **({"reward": observation.reward} if with_reward else {}),
    )
    result.content.extend(mcp.types.ImageContent(type="image", data=png, mimeType="image/png") for png in images)
    return result


def _error_result(problem: GatewayError) -> ToolResult:
    """Return the result for a call that took no step, in the format of OpenEnv's errors."""
    error = {"error_type": ToolErrorType.EXECUTION_ERROR.value, "message": str(problem)}
    return _result({"result": None, "error": error}, is_error=True)


def _result(content: dict[str, Any], *, is_error: bool, **meta: Any) -> ToolResult:
    text = mcp.types.TextContent(type="text", text=orjson.dumps(content).decode())
    return ToolResult(content=[text], structured_content=content, meta=meta or None, is_error=is_error)


def _quieten_libraries() -> None:
    """Send warnings of the libraries to the log of the process and drop their request logs."""
    for name in _LIBRARIES:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.WARNING)
