"""The tools in the words of whoever calls them: model APIs, MCP, and the chat templates of transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from companyos.contract import ToolSpec
from companyos_gateway.engine.toolbox import Tool


class ToolFormat(StrEnum):
    """Whose words a list of tools is in."""

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


def described(tools: list[Tool], form: ToolFormat) -> ToolList:
    """Return the tools in that format."""
    return [_WORDS[form](tool) for tool in tools]  # type: ignore[return-value]  # one format is one kind


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
    arguments = {name: _plain(argument) for name, argument in schema.get("properties", {}).items()}
    shape = {**schema, "properties": arguments, "required": schema.get("required", [])}
    return FunctionTool(function=FunctionSpec(name=tool.name, description=tool.description, parameters=shape))


def _plain(argument: dict[str, Any]) -> dict[str, Any]:
    described = {"description": "", **argument}
    if "type" not in described and "anyOf" in described:
        described["type"] = [one["type"] for one in described["anyOf"] if "type" in one]
    return described


_WORDS: Mapping[ToolFormat, Callable[[Tool], BaseModel]] = {
    ToolFormat.ANTHROPIC: _anthropic,
    ToolFormat.OPENAI: _openai,
    ToolFormat.MCP: _mcp,
    ToolFormat.TRANSFORMERS: _transformers,
}
