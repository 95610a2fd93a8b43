"""Builds Python methods with signature, type hints and Google docstring from the JSON Schemas of tools."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping
from textwrap import indent
from typing import Any, Literal

from companyos.contract import ToolSpec

ToolCallback = Callable[[Any, str, dict[str, Any]], str]
"""Function that receives the object, the tool name and the arguments of a call."""

_TYPES: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "object": dict,
    "array": list,
    "null": type(None),
}
_TYPE_LABELS: Mapping[str, str] = {
    "string": "Text",
    "integer": "A whole number",
    "number": "A number",
    "boolean": "Yes or no",
    "object": "An object",
    "array": "A list",
}
_FORMAT_LABELS: Mapping[str, str] = {
    "date": "A date such as 2026-11-20",
    "date-time": "A moment such as 2026-11-20T09:30:00Z",
}


def tool_method(tool: ToolSpec, call: ToolCallback) -> Callable[..., str]:
    """Return a method that passes its arguments to `call`; arguments that are None are omitted.

    Arguments unknown to the schema are passed as well: the server validates them.
    """
    names = {parameter_name(name): name for name in tool.input_schema.get("properties", {})}

    def wrapper(self: Any, /, **arguments: Any) -> str:
        provided = {names.get(name, name): value for name, value in arguments.items() if value is not None}
        return call(self, tool.name, provided)

    wrapper.__name__ = wrapper.__qualname__ = tool.name
    wrapper.__doc__ = docstring(tool)
    wrapper.__annotations__ = {**type_hints(tool), "return": str}
    wrapper.__signature__ = _signature(tool)  # type: ignore[attr-defined]  # inspect reads it first
    return wrapper


def parameter_name(name: str) -> str:
    """Return a valid Python parameter name of an argument: `from` becomes `from_`."""
    return f"{name}_" if keyword.iskeyword(name) else name


def type_hints(tool: ToolSpec) -> dict[str, Any]:
    """Return the type hints of a tool's arguments; optional ones may be None."""
    required = tool.input_schema.get("required", ())
    hints = {}
    for name, schema in _properties(tool):
        hint = _hint(schema)
        hints[parameter_name(name)] = hint if name in required else hint | None
    return hints


def docstring(tool: ToolSpec) -> str:
    """Return a tool's description with an `Args` section in Google style."""
    lines = [f"{parameter_name(name)}: {_describe(schema)}" for name, schema in _properties(tool)]
    arguments = f"\n\nArgs:\n{indent(chr(10).join(lines), '    ')}" if lines else ""
    return f"{' '.join(tool.description.split())}{arguments}\n"


def _properties(tool: ToolSpec) -> list[tuple[str, dict[str, Any]]]:
    """Return the arguments, required ones first."""
    required = tool.input_schema.get("required", ())
    return sorted(tool.input_schema.get("properties", {}).items(), key=lambda item: item[0] not in required)


def _signature(tool: ToolSpec) -> inspect.Signature:
    required, hints = tool.input_schema.get("required", ()), type_hints(tool)
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    for name, _ in _properties(tool):
        parameter = parameter_name(name)
        default = inspect.Parameter.empty if name in required else None
        parameters.append(
            inspect.Parameter(parameter, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[parameter])
        )
    return inspect.Signature(parameters, return_annotation=str)


def _hint(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if schema.get("type") == "array" and isinstance(schema.get("items"), dict) and schema["items"]:
        return list[_hint(schema["items"])]  # type: ignore[misc]  # built at run time
    return _TYPES.get(str(schema.get("type")), dict)


def _describe(schema: Mapping[str, Any]) -> str:
    """Return a one-line description of an argument: its description or kind, and its bounds."""
    kind = (
        "One of these"
        if "enum" in schema
        else _FORMAT_LABELS.get(schema.get("format", ""), _TYPE_LABELS.get(str(schema.get("type")), "A value"))
    )
    description = " ".join(str(schema.get("description", "")).split()) or f"{kind}."
    bounds = _bounds(schema)
    return f"{description} {bounds}" if bounds else description


def _bounds(schema: Mapping[str, Any]) -> str:
    match schema:
        case {"minimum": low, "maximum": high}:
            return f"From {low} to {high}."
        case {"minimum": low}:
            return f"At least {low}."
        case {"maximum": high}:
            return f"At most {high}."
        case _:
            return ""
