"""`companyos tools`: what an agent can call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from companyos.cli.session import Server, TokenOption, UrlOption, some_server
from companyos.cli.terminal import MISUSED, OUT, clear_errors, fail, plain_table, shown

if TYPE_CHECKING:
    from companyos.contract import ToolSpec

BYTES_PER_TOKEN = 4
"""What a token is taken for where no tokenizer is at hand."""


def tools(
    name: Annotated[str | None, typer.Argument(help="One tool, with all that its schema says.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the schemas as an agent is given them.")] = False,
    url: UrlOption = None,
    token: TokenOption = None,
) -> None:
    """List the tools of the three systems, or explain one.

    Examples:

      [cyan]companyos tools[/]
      [cyan]companyos tools approvalflow_submit_approval[/]
      [cyan]companyos tools --json > tools.json[/]
    """
    with clear_errors(), some_server(url, token) as server:
        offered = _fetch(server)
    if name is not None:
        offered = [tool for tool in offered if tool.name == name]
        if not offered:
            fail(f"no tool is called {name!r}; `companyos tools` lists them", MISUSED)
    if as_json:
        typer.echo(json.dumps([tool.model_dump() for tool in offered], indent=2, ensure_ascii=False))
    elif name is not None:
        print_tool(offered[0])
    else:
        print_tools(offered)


def schema_bytes(offered: Sequence[ToolSpec]) -> int:
    """Return the size of the schemas as compact JSON, as a model is given them."""
    listed = [tool.model_dump() for tool in offered]
    return len(json.dumps(listed, separators=(",", ":"), ensure_ascii=False).encode())


def _fetch(server: Server) -> list[ToolSpec]:
    import asyncio

    async def fetch() -> list[ToolSpec]:
        async with server.env() as env:
            return await env.list_tools()

    return asyncio.run(fetch())


def print_tools(offered: Sequence[ToolSpec]) -> None:
    """Print every tool with what it does and takes, by system."""
    by_system: dict[str, list[ToolSpec]] = {}
    for tool in offered:
        system, separator, _ = tool.name.partition("_")
        by_system.setdefault(system if separator else "the environment itself", []).append(tool)
    for system, group in by_system.items():
        table = plain_table(show_header=False)
        OUT.print(f"[bold]{system}[/]")
        table.add_column(style="cyan", no_wrap=True)
        table.add_column()
        for tool in group:
            table.add_row(tool.name, f"{shown(tool.description)}\n[dim]{shown(arguments_told(tool))}[/]")
        OUT.print(table, "")
    tokens = schema_bytes(offered) // BYTES_PER_TOKEN
    OUT.print(f"[dim]{len(offered)} tools, about {tokens:,} tokens of schemas[/]")


def arguments_told(tool: ToolSpec) -> str:
    """Return the names of the arguments, in brackets where they may be left out."""
    required = tool.input_schema.get("required", ())
    names = tool.input_schema.get("properties", {})
    optional = [f"[{name}]" for name in names if name not in required]
    return " ".join([*(name for name in names if name in required), *optional]) or "no arguments"


def print_tool(tool: ToolSpec) -> None:
    """Print one tool with all that its schema says."""
    OUT.print(f"[bold cyan]{tool.name}[/]\n{shown(tool.description)}\n")
    arguments = tool.input_schema.get("properties", {})
    is_described = any(schema.get("description") for schema in arguments.values())
    table = plain_table()
    for column in ("argument", "", "type", *(["what it is"] if is_described else [])):
        table.add_column(column)
    required = tool.input_schema.get("required", ())
    for name, schema in arguments.items():
        needed = "[bold]required[/]" if name in required else "[dim]optional[/]"
        told = [shown(schema.get("description", ""))] if is_described else []
        table.add_row(f"[cyan]{name}[/]", needed, shown(type_told(schema)), *told)
    OUT.print(table if table.row_count else "[dim]no arguments[/]")


def type_told(schema: Mapping[str, Any]) -> str:
    """Return the type that a schema asks for, with its limits, in words."""
    if variants := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(type_told(variant) for variant in variants)
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    named = schema.get("format") or schema.get("type", "any")
    named = " | ".join(named) if isinstance(named, list) else str(named)
    if named == "array":
        return f"list of {type_told(schema.get('items', {}))}"
    limits = [f"{word} {schema[key]}" for key, word in _LIMITS.items() if key in schema]
    return f"{named} ({', '.join(limits)})" if limits else named


_LIMITS = {
    "minimum": "from",
    "maximum": "to",
    "minLength": "at least",
    "maxLength": "at most",
}
