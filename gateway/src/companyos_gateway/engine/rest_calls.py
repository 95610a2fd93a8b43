"""Converts requests to a service's own REST routes into tool calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from starlette.routing import compile_path

from companyos_gateway.engine.openapi_operations import Argument, ArgumentLocation, Operation
from companyos_gateway.engine.toolbox import Tool

_INTEGER = re.compile(r"-?[0-9]{1,17}")
_NUMBER = re.compile(r"-?[0-9]{1,17}(\.[0-9]{1,17})?")
_BOOLEANS = {"true": True, "false": False}


def find_tool(tools: Iterable[Tool], service: str, method: str, path: str) -> tuple[Tool, dict[str, str]] | None:
    """Return the first tool whose route matches, with the values of its path parameters, or None."""
    for tool in tools:
        operation = tool.operation
        if operation is None or operation.service != service or operation.method != method:
            continue
        if match := compile_path(operation.path)[0].match(path):
            return tool, match.groupdict()
    return None


def tool_arguments(
    operation: Operation,
    path_values: Mapping[str, str],
    query: Sequence[tuple[str, str]],
    headers: Mapping[str, str],
    body: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the arguments of a request, without validating them against the tool's schema."""
    arguments: dict[str, Any] = dict(body)
    for name in dict.fromkeys(name for name, _ in query):
        texts = [text for found, text in query if found == name]
        arguments[name] = _from_query(texts, operation.arguments.get(name))
    for argument in operation.arguments.values():
        if argument.location is ArgumentLocation.PATH:
            arguments[argument.name] = _from_text(path_values[argument.wire_name], _types(argument.public_schema))
        elif argument.location is ArgumentLocation.HEADER and argument.wire_name in headers:
            arguments[argument.name] = _from_header(headers[argument.wire_name], _types(argument.public_schema))
    return arguments


def _from_query(texts: list[str], argument: Argument | None) -> Any:
    if argument is None:
        return texts[0]
    types = _types(argument.public_schema)
    if "array" in types:
        items = _types(argument.public_schema.get("items", {}))
        return [_from_text(text, items) for text in texts]
    return _from_text(texts[0], types) if len(texts) == 1 else texts


def _from_header(text: str, types: set[str]) -> Any:
    """Return the value of a header; a number may be quoted like an entity tag."""
    number = _from_text(text.strip().removeprefix("W/").strip('"'), types)
    return number if isinstance(number, int) else text


def _types(schema: Mapping[str, Any]) -> set[str]:
    """Return the JSON types that a schema accepts."""
    kind = schema.get("type", ())
    types = {kind} if isinstance(kind, str) else set(kind)
    return types.union(*(_types(option) for option in schema.get("anyOf", ())))


def _from_text(text: str, types: set[str]) -> Any:
    """Parse the text of a parameter in the same way as the service."""
    if "integer" in types and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in types and _NUMBER.fullmatch(text):
        return float(text)
    return _BOOLEANS.get(text, text) if "boolean" in types else text
