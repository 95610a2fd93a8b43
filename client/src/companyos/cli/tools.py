"""`companyos tools`: lists the tools of an agent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

import typer

from companyos.cli.connection import Server, TokenOption, UrlOption, connect_or_start
from companyos.cli.terminal import OUT, USAGE_ERROR, fail, plain_table, print_json, report_errors, sanitize

if TYPE_CHECKING:
    from companyos.contract import ToolSpec

BYTES_PER_TOKEN = 4
"""Characters per token, for estimates without a tokenizer."""


def tools(
    name: Annotated[str | None, typer.Argument(help="Name of one tool to describe in full. Default: list all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the schemas as an agent receives them.")] = False,
    url: UrlOption = None,
    token: TokenOption = None,
) -> None:
    """List the tools of the services, or describe one.

    Examples:

      [cyan]companyos tools[/]
      [cyan]companyos tools approvalflow_submit_approval[/]
      [cyan]companyos tools --json > tools.json[/]
    """
    with report_errors(), connect_or_start(url, token) as server:
        specs = fetch_tools(server)
    if name is not None:
        close = get_close_matches(name, [tool.name for tool in specs], 1)
        specs = [tool for tool in specs if tool.name == name]
        if not specs:
            hint = f"did you mean {close[0]}?" if close else "`companyos tools` lists the tools"
            fail(f"unknown tool {name!r}; {hint}", USAGE_ERROR)
    if as_json:
        print_json(specs)
    elif name is not None:
        print_tool(specs[0])
    else:
        print_tools(specs)


def schema_bytes(specs: Sequence[ToolSpec]) -> int:
    """Return the size of the schemas as compact JSON in bytes."""
    listed = [tool.model_dump() for tool in specs]
    return len(json.dumps(listed, separators=(",", ":"), ensure_ascii=False).encode())


def fetch_tools(server: Server) -> list[ToolSpec]:
    """Return all tools with their schemas, as listed outside of an episode."""
    import asyncio

    async def fetch() -> list[ToolSpec]:
        async with server.env() as env:
            return await env.list_tools()

    return asyncio.run(fetch())


def print_tools(specs: Sequence[ToolSpec]) -> None:
    """Print every tool with its description and arguments, by system."""
    by_system: dict[str, list[ToolSpec]] = {}
    for tool in specs:
        system, separator, _ = tool.name.partition("_")
        by_system.setdefault(system if separator else "the environment itself", []).append(tool)
    for system, group in by_system.items():
        table = plain_table(show_header=False)
        OUT.print(f"[bold]{system}[/]")
        table.add_column(style="cyan", no_wrap=True)
        table.add_column()
        for tool in group:
            table.add_row(tool.name, f"{sanitize(tool.description)}\n[dim]{sanitize(describe_arguments(tool))}[/]")
        OUT.print(table, "")
    tokens = schema_bytes(specs) // BYTES_PER_TOKEN
    OUT.print(f"[dim]{len(specs)} tools, about {tokens:,} tokens of schemas[/]")


def describe_arguments(tool: ToolSpec) -> str:
    """Return the argument names, optional ones in brackets."""
    required = tool.input_schema.get("required", ())
    names = tool.input_schema.get("properties", {})
    optional = [f"[{name}]" for name in names if name not in required]
    return " ".join([*(name for name in names if name in required), *optional]) or "no arguments"


def print_tool(tool: ToolSpec) -> None:
    """Print one tool with its full schema."""
    OUT.print(f"[bold cyan]{tool.name}[/]\n{sanitize(tool.description)}\n")
    arguments = tool.input_schema.get("properties", {})
    is_described = any(schema.get("description") for schema in arguments.values())
    table = plain_table()
    for column in ("argument", "", "type", *(["description"] if is_described else [])):
        table.add_column(column)
    required = tool.input_schema.get("required", ())
    for name, schema in arguments.items():
        needed = "[bold]required[/]" if name in required else "[dim]optional[/]"
        cells = [sanitize(schema.get("description", ""))] if is_described else []
        table.add_row(f"[cyan]{name}[/]", needed, sanitize(describe_type(schema)), *cells)
    OUT.print(table if table.row_count else "[dim]no arguments[/]")


def describe_type(schema: Mapping[str, Any]) -> str:
    """Return the type and limits of a schema in words."""
    if variants := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(describe_type(variant) for variant in variants)
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    type_name = schema.get("format") or schema.get("type", "any")
    type_name = " | ".join(type_name) if isinstance(type_name, list) else str(type_name)
    if type_name == "array":
        return f"list of {describe_type(schema.get('items', {}))}"
    limits = [f"{word} {schema[key]}" for key, word in _LIMITS.items() if key in schema]
    return f"{type_name} ({', '.join(limits)})" if limits else type_name


_LIMITS = {
    "minimum": "from",
    "maximum": "to",
    "minLength": "at least",
    "maxLength": "at most",
}
