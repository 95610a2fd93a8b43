"""The tools: listed over HTTP, in the formats of model APIs, MCP and the chat templates of transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from companyos.contract import ToolSpec
from companyos_gateway.api.openapi import ERROR_RESPONSES
from companyos_gateway.api.query_params import STRICT_QUERY
from companyos_gateway.engine.toolbox import Tool
from companyos_gateway.middleware.auth import check_is_trainer, requested_episode
from companyos_gateway.runtime import GatewayRuntime


class ToolFormat(StrEnum):
    """Format of a tool list."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    MCP = "mcp"
    TRANSFORMERS = "transformers"


class FunctionSpec(BaseModel):
    """A function as a chat model is offered it."""

    model_config = ConfigDict(extra="forbid")

    name: str
    description: str
    parameters: dict[str, Any] = Field(description="A JSON Schema.")


class FunctionTool(BaseModel):
    """A tool of the chat completions API, and of `apply_chat_template(tools=...)`."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["function"] = "function"
    function: FunctionSpec


class McpTool(BaseModel):
    """A tool as MCP's `tools/list` tells of it."""

    model_config = ConfigDict(extra="forbid")

    name: str
    description: str
    inputSchema: dict[str, Any]  # noqa: N815 - MCP's own spelling


ToolList = list[ToolSpec] | list[FunctionTool] | list[McpTool]


def format_tools(tools: list[Tool], form: ToolFormat) -> ToolList:
    """Return the tools in that format."""
    return [_FORMATTERS[form](tool) for tool in tools]  # type: ignore[return-value]  # one format is one kind


def _anthropic(tool: Tool) -> ToolSpec:
    return ToolSpec(name=tool.name, description=tool.description, input_schema=tool.input_schema)


def _openai(tool: Tool) -> FunctionTool:
    return FunctionTool(
        function=FunctionSpec(name=tool.name, description=tool.description, parameters=tool.input_schema)
    )


def _mcp(tool: Tool) -> McpTool:
    return McpTool(name=tool.name, description=tool.description, inputSchema=tool.input_schema)


def _transformers(tool: Tool) -> FunctionTool:
    """Return the tool as `get_json_schema` would: chat templates read `type` and `description` of every argument."""
    schema = tool.input_schema
    arguments = {name: _plain_argument(argument) for name, argument in schema.get("properties", {}).items()}
    shape = {**schema, "properties": arguments, "required": schema.get("required", [])}
    return FunctionTool(function=FunctionSpec(name=tool.name, description=tool.description, parameters=shape))


def _plain_argument(argument: dict[str, Any]) -> dict[str, Any]:
    format_tools = {"description": "", **argument}
    if "type" not in format_tools and "anyOf" in format_tools:
        format_tools["type"] = [one["type"] for one in format_tools["anyOf"] if "type" in one]
    return format_tools


_FORMATTERS: Mapping[ToolFormat, Callable[[Tool], BaseModel]] = {
    ToolFormat.ANTHROPIC: _anthropic,
    ToolFormat.OPENAI: _openai,
    ToolFormat.MCP: _mcp,
    ToolFormat.TRANSFORMERS: _transformers,
}


_ID = "The id that the reset answered."

Form = Annotated[ToolFormat, Query(description="`transformers` is for `apply_chat_template(tools=...)`.")]


def tools_router(runtime: GatewayRuntime) -> APIRouter:
    """Return the route that lists all tools, or an episode's."""
    router = APIRouter(responses=ERROR_RESPONSES, tags=["Tools"], dependencies=STRICT_QUERY)

    @router.get("/v1/tools")
    async def tools(
        request: Request,
        episode_id: Annotated[str | None, Query(description=_ID, max_length=128)] = None,
        format: Form = ToolFormat.ANTHROPIC,
    ) -> ToolList:
        """List the tools: all of them, or those that an episode offers."""
        if episode_id is None:
            check_is_trainer(request)
            return format_tools(runtime.engine().tools(None), format)
        return _episode_tools(runtime, request, episode_id, format)

    return router


def episode_tools_router(runtime: GatewayRuntime) -> APIRouter:
    """Return the route that lists an episode's tools by the episode's own address."""
    router = APIRouter(responses=ERROR_RESPONSES, tags=["Tools"], dependencies=STRICT_QUERY)

    @router.get("/v1/episodes/{episode_id}/tools")
    async def episode_tools(
        request: Request,
        episode_id: Annotated[str, Path(description=_ID, max_length=128)],
        format: Form = ToolFormat.ANTHROPIC,
    ) -> ToolList:
        """List the tools that an episode offers, as its toolset and its drift have them."""
        return _episode_tools(runtime, request, episode_id, format)

    return router


def _episode_tools(runtime: GatewayRuntime, request: Request, episode_id: str, form: ToolFormat) -> ToolList:
    engine = runtime.engine()
    return format_tools(engine.tools(requested_episode(request, engine.store, episode_id)), form)
