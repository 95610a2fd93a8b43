"""Tool routes: list tools in the formats of model APIs, MCP and the chat templates of transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from companyos.contract import ToolSpec
from companyos_gateway.api.openapi import ERROR_RESPONSES
from companyos_gateway.api.query_params import STRICT_QUERY
from companyos_gateway.engine.toolbox import Tool
from companyos_gateway.middleware.auth import check_is_trainer, requested_episode
from companyos_gateway.runtime import GatewayRuntime
from companyos_shared.web.lazy_routes import LazyRouter


class ToolFormat(StrEnum):
    """Formats of the tool list."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    MCP = "mcp"
    TRANSFORMERS = "transformers"


class FunctionSpec(BaseModel):
    """The function of a chat completions tool."""

    model_config = ConfigDict(extra="forbid")

    name: str
    description: str
    parameters: dict[str, Any] = Field(description="JSON Schema of the arguments.")


class FunctionTool(BaseModel):
    """A tool in the format of the chat completions API and of `apply_chat_template(tools=...)`."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["function"] = "function"
    function: FunctionSpec


OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "result": {"description": "The response of the service, or its error."},
        "error": {"type": "object", "description": "Why the call is invalid, if it is."},
        "now": {"type": "string", "format": "date-time", "description": "Simulated time."},
        "steps_left": {"type": "integer"},
        "done": {"type": "boolean", "description": "Whether the episode is over."},
    },
    "required": ["result"],
}
"""Schema of the structured content of every MCP result."""


class McpAnnotations(BaseModel):
    """The hints of an MCP tool, by the method and status of its operation. `wait` and `finish` change no records."""

    model_config = ConfigDict(extra="forbid")

    readOnlyHint: bool  # noqa: N815 - the spelling of MCP
    destructiveHint: bool = Field(description="Whether the tool changes or ends existing records.")  # noqa: N815
    idempotentHint: bool  # noqa: N815
    openWorldHint: bool = False  # noqa: N815


class McpTool(BaseModel):
    """A tool in the format of MCP's `tools/list`."""

    model_config = ConfigDict(extra="forbid")

    name: str
    description: str
    inputSchema: dict[str, Any]  # noqa: N815
    outputSchema: dict[str, Any]  # noqa: N815
    annotations: McpAnnotations


ToolList = list[ToolSpec] | list[FunctionTool] | list[McpTool]


def format_tools(tools: list[Tool], format: ToolFormat) -> ToolList:
    """Return the tools in the format."""
    return [_FORMATTERS[format](tool) for tool in tools]  # type: ignore[return-value]  # one model per format


def _anthropic(tool: Tool) -> ToolSpec:
    return ToolSpec(name=tool.name, description=tool.description, input_schema=tool.input_schema)


def _openai(tool: Tool) -> FunctionTool:
    return FunctionTool(
        function=FunctionSpec(name=tool.name, description=tool.description, parameters=tool.input_schema)
    )


def mcp_tool(tool: Tool) -> McpTool:
    """Return a tool in the format of MCP."""
    operation = tool.operation
    is_read = operation is not None and operation.is_read
    annotations = McpAnnotations(
        readOnlyHint=is_read,
        destructiveHint=not is_read and operation is not None and not operation.creates,
        idempotentHint=operation is not None and operation.is_idempotent,
    )
    return McpTool(
        name=tool.name,
        description=tool.description,
        inputSchema=tool.input_schema,
        outputSchema=OUTPUT_SCHEMA,
        annotations=annotations,
    )


def _transformers(tool: Tool) -> FunctionTool:
    """Return the tool like `get_json_schema`: chat templates read `type` and `description` of every argument."""
    schema = tool.input_schema
    arguments = {name: _plain_argument(argument) for name, argument in schema.get("properties", {}).items()}
    parameters = {**schema, "properties": arguments, "required": schema.get("required", [])}
    return FunctionTool(function=FunctionSpec(name=tool.name, description=tool.description, parameters=parameters))


def _plain_argument(argument: dict[str, Any]) -> dict[str, Any]:
    plain = {"description": "", **argument}
    if "type" not in plain and "anyOf" in plain:
        plain["type"] = [option["type"] for option in plain["anyOf"] if "type" in option]
    return plain


_FORMATTERS: Mapping[ToolFormat, Callable[[Tool], BaseModel]] = {
    ToolFormat.ANTHROPIC: _anthropic,
    ToolFormat.OPENAI: _openai,
    ToolFormat.MCP: mcp_tool,
    ToolFormat.TRANSFORMERS: _transformers,
}


_ID = "ID of the episode, from the response of the reset."

FormatQuery = Annotated[
    ToolFormat, Query(description="Format of the list. `transformers` suits `apply_chat_template`.")
]


def tools_router(runtime: GatewayRuntime) -> LazyRouter:
    """Return the route that lists all tools or those of an episode."""
    router = LazyRouter(responses=ERROR_RESPONSES, tags=["Tools"], dependencies=STRICT_QUERY)

    @router.get("/v1/tools")
    async def tools(
        request: Request,
        episode_id: Annotated[str | None, Query(description=_ID, max_length=128)] = None,
        format: FormatQuery = ToolFormat.ANTHROPIC,
    ) -> ToolList:
        """List the tools.

        Returns the tools of an episode, or all tools if `episode_id` is missing, which requires the trainer token.
        """
        if episode_id is None:
            check_is_trainer(request)
            return format_tools(runtime.engine().tools(None), format)
        return _episode_tools(runtime, request, episode_id, format)

    return router


def episode_tools_router(runtime: GatewayRuntime) -> LazyRouter:
    """Return the route that lists tools below the path of an episode."""
    router = LazyRouter(responses=ERROR_RESPONSES, tags=["Tools"], dependencies=STRICT_QUERY)

    @router.get("/v1/episodes/{episode_id}/tools")
    async def episode_tools(
        request: Request,
        episode_id: Annotated[str, Path(description=_ID, max_length=128)],
        format: FormatQuery = ToolFormat.ANTHROPIC,
    ) -> ToolList:
        """List the tools of an episode, with its toolset and its renamed fields."""
        return _episode_tools(runtime, request, episode_id, format)

    return router


def _episode_tools(runtime: GatewayRuntime, request: Request, episode_id: str, format: ToolFormat) -> ToolList:
    engine = runtime.engine()
    return format_tools(engine.tools(requested_episode(request, engine.store, episode_id)), format)
