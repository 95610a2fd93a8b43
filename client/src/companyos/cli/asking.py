"""Asking a person for the arguments of a tool: name, type, what may be chosen, and what may be left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from companyos.cli.lines import Lines
from companyos.cli.terminal import OUT, shown
from companyos.cli.tools import type_told
from companyos.cli.typed import Unreadable, read_value

if TYPE_CHECKING:
    from companyos.contract import ToolSpec

_SELDOM = frozenset({"if_match", "idempotency_key", "limit", "cursor"})
"""What is asked for only where somebody wants to be asked for everything."""


def ask(lines: Lines, tool: ToolSpec, given: Mapping[str, Any], *, everything: bool = False) -> dict[str, Any]:
    """Return the arguments of a call: those that are given, and those that the person fills in.

    Raises what `Lines.line` raises; what does not fit is asked for again.
    """
    schema, arguments = tool.input_schema, dict(given)
    for name in _asked(schema, given, everything=everything):
        answered, value = _one(lines, name, schema)
        if answered:
            arguments[name] = value
        if len(arguments) >= schema.get("maxProperties", len(schema.get("properties", {})) or 1):
            break
    return arguments


def _asked(schema: Mapping[str, Any], given: Mapping[str, Any], *, everything: bool) -> Iterator[str]:
    """Yield the arguments that are asked for, the required ones first.

    With words on the line only what is required is asked for; without any whatever is often of use, unless the tool
    can do without arguments.
    """
    required = schema.get("required", ())
    yield from (name for name in required if name not in given)
    if everything or (not given and (required or schema.get("minProperties"))):
        optional = [name for name in schema.get("properties", {}) if name not in required and name not in given]
        yield from (name for name in optional if everything or name not in _SELDOM)


def _one(lines: Lines, name: str, schema: Mapping[str, Any]) -> tuple[bool, Any]:
    """Ask for one argument until it fits; nothing typed leaves out what may be left out."""
    asked, is_required = schema["properties"][name], name in schema.get("required", ())
    described = f"  [dim]{shown(asked['description'])}[/]" if asked.get("description") else ""
    default = f", {asked['default']} unless you say otherwise" if "default" in asked else ""
    needed = "" if is_required else f" [dim]Enter leaves it out{shown(default)}[/]"
    OUT.print(f"  [cyan]{name}[/] [dim]{shown(type_told(asked))}[/]{described}{needed}", soft_wrap=True)
    while True:
        typed = lines.line(f"  {name}: ")
        if not typed.strip():
            if not is_required:
                return False, None
            OUT.print("  [yellow]it cannot do without[/]")
            continue
        try:
            return True, read_value(asked, typed)
        except Unreadable as misfit:
            OUT.print(f"  [yellow]{shown(str(misfit))}[/]", soft_wrap=True)
