"""The agent's tools: every operation that the services publish, plus `wait` and `finish`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import fastjsonschema

from companyos_gateway.chaos import Drift
from companyos_gateway.engine.argument_errors import describe_violation
from companyos_gateway.engine.json_schemas import normalize_choices
from companyos_gateway.engine.openapi_operations import Operation, parse_operations
from companyos_gateway.services import BUILTIN_SERVICES

WAIT = "wait"
FINISH = "finish"
MAX_WAIT_MINUTES = 7 * 24 * 60
NEXT_WORKING_MORNING = "next_working_morning"


class InvalidArgumentsError(ValueError):
    """Invalid arguments of a tool; the message contains the argument, its value and the accepted values."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool with its validator. `operation` is None for the gateway's own tools, `wait` and `finish`."""

    name: str
    description: str
    input_schema: dict[str, Any]
    validate: Callable[[Any], Any] = field(repr=False)
    operation: Operation | None = None

    def with_drift(self, drift: Drift) -> Tool:
        """Return the tool with its description under a drift."""
        operation = self.operation
        if operation is None:
            return self
        new_description = drift.describe_tool(self.name, operation.service, self.description, operation.response_fields)
        return self if new_description == self.description else replace(self, description=new_description)

    def normalize_choices(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments with every choice spelled as in the schema."""
        normalized: dict[str, Any] = normalize_choices(arguments, self.input_schema)
        return normalized

    def check(self, arguments: Any) -> None:
        """Raise InvalidArgumentsError if the arguments violate the schema."""
        try:
            self.validate(arguments)
        except fastjsonschema.JsonSchemaValueException as error:
            raise InvalidArgumentsError(describe_violation(error)) from error


class Toolbox:
    """All tools by name, in a fixed order; built once from the services' OpenAPI documents."""

    def __init__(self, tools: Iterable[Tool], page_titles: Mapping[str, str] | None = None) -> None:
        self.page_titles = dict(page_titles or {})
        """Titles of the services that have pages, by name."""

        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are named {tool.name}")
            self._tools[tool.name] = tool

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def tool(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return self._tools.get(name)

    def service_of(self, name: str) -> str | None:
        """Return the service that a tool calls, or None if it calls none."""
        tool = self._tools.get(name)
        return tool.operation.service if tool is not None and tool.operation is not None else None

    def select(self, names: Iterable[str] | None) -> list[Tool]:
        """Return the tools of those names and the gateway's own tools, or every tool for None."""
        if names is None:
            return list(self._tools.values())
        selected_names = {*names, WAIT, FINISH}
        return [tool for tool in self._tools.values() if tool.name in selected_names]


def build_toolbox(documents: Mapping[str, dict[str, Any]], finish_schema: dict[str, Any]) -> Toolbox:
    """Create the tools of these OpenAPI documents, by service name, and the gateway's own tools."""
    tools = [
        _service_tool(operation)
        for service in sorted(documents)
        for operation in parse_operations(service, documents[service])
    ]
    finish = "End the episode and declare its outcome."
    wait = (
        "Let simulated time pass: `minutes`, or `until` the next working morning. "
        "Every other call takes time too: usually 1 to 3 minutes, occasionally up to half an hour."
    )
    return Toolbox(
        [
            *tools,
            Tool(WAIT, wait, _WAIT_SCHEMA, _validator(_WAIT_SCHEMA)),
            Tool(FINISH, finish, finish_schema, _validator(finish_schema)),
        ],
        {name: document["info"]["title"] for name, document in documents.items() if document["info"].get("x-pages")},
    )


_WAIT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "minutes": {"type": "integer", "minimum": 1, "maximum": MAX_WAIT_MINUTES},
        "until": {"type": "string", "enum": [NEXT_WORKING_MORNING]},
    },
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": False,
}


def _service_tool(operation: Operation) -> Tool:
    required = [name for name, argument in operation.arguments.items() if argument.required]
    base_schema: dict[str, Any] = {"type": "object", "additionalProperties": False}
    if required:
        base_schema["required"] = required
    public_schemas = {name: argument.public_schema for name, argument in operation.arguments.items()}
    validation_schemas = {name: argument.validation_schema for name, argument in operation.arguments.items()}
    return Tool(
        name=operation.tool_name,
        description=operation.description,
        input_schema={**base_schema, "properties": public_schemas},
        validate=_validator(
            {**base_schema, "properties": validation_schemas},
            at_once=operation.service not in BUILTIN_SERVICES,  # an invalid schema must fail the start
        ),
        operation=operation,
    )


def _validator(schema: dict[str, Any], *, at_once: bool = False) -> Callable[[Any], Any]:
    """Return the validator of a schema, which is compiled once per process: on its first use, or `at_once`."""
    text = json.dumps(schema)
    if at_once:
        _compile(text)
    return lambda arguments: _compile(text)(arguments)


@cache
def _compile(schema: str) -> Callable[[Any], Any]:
    validate: Callable[[Any], Any] = fastjsonschema.compile(json.loads(schema), use_default=False)
    return validate
