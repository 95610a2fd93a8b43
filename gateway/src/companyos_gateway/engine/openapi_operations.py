"""Parses the OpenAPI documents of services into operations, the only source of the service tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import quote

import orjson

from companyos_gateway.engine.json_schemas import make_nullable, to_public_schema, to_validation_schema
from companyos_gateway.engine.service_client import ServiceCall

METHODS = ("get", "post", "put", "patch", "delete")
DEFAULT_READ_MINUTES = 1
DEFAULT_WRITE_MINUTES = 3

_JSON = "application/json"
PATH_SAFE = "!$'()*,&=;@:"
QUERY_SAFE = "!$'()*,?/:@"
"""Characters that HTTP libraries do not encode, or would decode again: the target is sent exactly as it was signed."""

_PATH_TEXT = {"minLength": 1, "not": {"enum": [".", ".."]}, "pattern": r"^[^/\\\x00-\x1f\x7f]*$"}


class ArgumentLocation(StrEnum):
    """Location of an argument in the HTTP request."""

    PATH = "path"
    QUERY = "query"
    HEADER = "header"
    BODY = "body"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool: `wire_name` is the service's own name for it."""

    name: str
    wire_name: str
    location: ArgumentLocation
    required: bool
    public_schema: dict[str, Any]
    validation_schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a service, with all data for its calls."""

    service: str
    operation_id: str
    description: str
    method: str
    path: str
    minutes: int
    has_body: bool
    creates: bool
    """Whether the operation creates a resource, as its documented status 201 indicates."""
    arguments: Mapping[str, Argument] = field(repr=False)
    response_fields: frozenset[str] = field(default=frozenset(), repr=False)
    """The names of all fields that its response may contain, at any depth."""

    @property
    def tool_name(self) -> str:
        """The name of the agent's tool."""
        return f"{self.service}_{self.operation_id}"

    @property
    def is_read(self) -> bool:
        """Return whether the operation is read-only."""
        return self.method == "GET"

    @property
    def is_idempotent(self) -> bool:
        """Return whether a repeated call has no further effect, as HTTP defines it for the method."""
        return self.method != "POST"

    def entity(self, arguments: Mapping[str, Any]) -> str:
        """Return the entity of the call: its path arguments joined by slashes, or an empty string."""
        parts = (
            str(arguments[name])
            for name, argument in self.arguments.items()
            if argument.location is ArgumentLocation.PATH
        )
        return "/".join(parts)

    def build_call(self, arguments: Mapping[str, Any]) -> ServiceCall:
        """Return the HTTP request of a call with valid arguments."""
        path, query, headers, body = self.path, [], {}, {}
        for name, value in arguments.items():
            argument = self.arguments[name]
            if argument.location is ArgumentLocation.BODY:
                body[argument.wire_name] = value
            elif value is None:
                continue
            elif argument.location is ArgumentLocation.PATH:
                path = path.replace(f"{{{argument.wire_name}}}", quote(_to_text(value), safe=PATH_SAFE))
            elif argument.location is ArgumentLocation.QUERY:
                query.extend(_query_pairs(argument.wire_name, value))
            else:
                headers[argument.wire_name] = _to_header_text(value)
        target = f"{path}?{'&'.join(query)}" if query else path
        return ServiceCall(self.method, target, orjson.dumps(body) if self.has_body else b"", headers or None)


def parse_operations(service: str, document: dict[str, Any]) -> Iterator[Operation]:
    """Yield every named operation of an OpenAPI document, in its order; raises ValueError for clashing arguments."""
    for path, item in document.get("paths", {}).items():
        for method in METHODS:
            operation = item.get(method)
            if operation and operation.get("operationId"):
                yield _operation(service, path, method, operation, item.get("parameters", []), document)


def _operation(
    service: str,
    path: str,
    method: str,
    operation: dict[str, Any],
    shared: list[dict[str, Any]],
    document: dict[str, Any],
) -> Operation:
    body = operation.get("requestBody")
    arguments: dict[str, Argument] = {}
    all_arguments = [
        *_parameters([*shared, *operation.get("parameters", [])], document),
        *_body_arguments(body, document),
    ]
    for argument in all_arguments:
        if argument.name in arguments:
            raise ValueError(f"{service}.{operation['operationId']} has two arguments named {argument.name}")
        arguments[argument.name] = argument
    return Operation(
        service=service,
        operation_id=operation["operationId"],
        description=_first_paragraph(operation.get("description") or operation.get("summary") or ""),
        method=method.upper(),
        path=path,
        minutes=int(operation.get("x-minutes", DEFAULT_READ_MINUTES if method == "get" else DEFAULT_WRITE_MINUTES)),
        has_body=body is not None,
        creates="201" in operation.get("responses", {}),
        arguments=arguments,
        response_fields=frozenset(_response_field_names(operation, document)),
    )


def _response_field_names(operation: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    """Yield the names of the fields in an operation's 2xx responses."""
    for status, response in operation.get("responses", {}).items():
        schema = response.get("content", {}).get(_JSON, {}).get("schema")
        if status.startswith("2") and schema:
            yield from _property_names(to_public_schema(schema, document))


def _property_names(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for part in schema:
            yield from _property_names(part)
    elif isinstance(schema, dict):
        for word, part in schema.items():
            if word == "properties":
                yield from part
                yield from _property_names(list(part.values()))
            else:
                yield from _property_names(part)


def _parameters(parameters: list[dict[str, Any]], document: dict[str, Any]) -> Iterator[Argument]:
    for parameter in parameters:
        location = ArgumentLocation(parameter["in"])
        schema = parameter.get("schema", {})
        public_schema, validation = to_public_schema(schema, document), to_validation_schema(schema, document)
        if "description" in parameter:
            public_schema["description"] = parameter["description"]
        if location is ArgumentLocation.PATH and public_schema.get("type") == "string":
            validation = {"allOf": [validation, _PATH_TEXT]}
        required = bool(parameter.get("required"))
        if not required:
            validation = make_nullable(validation)
        name = parameter["name"].lower().replace("-", "_") if location is ArgumentLocation.HEADER else parameter["name"]
        yield Argument(name, parameter["name"], location, required, public_schema, validation)


def _body_arguments(body: dict[str, Any] | None, document: dict[str, Any]) -> Iterator[Argument]:
    if body is None:
        return
    schema = body["content"][_JSON]["schema"]
    public_schema, validation = to_public_schema(schema, document), to_validation_schema(schema, document)
    if "properties" not in public_schema:
        raise ValueError("a request body must be an object with named properties")
    required = set(public_schema.get("required", ()))
    for name, part in public_schema["properties"].items():
        yield Argument(name, name, ArgumentLocation.BODY, name in required, part, validation["properties"][name])


def _first_paragraph(text: str) -> str:
    return " ".join(text.strip().split("\n\n", 1)[0].split())


def _to_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _to_header_text(value: Any) -> str:
    return quote(_to_text(value), safe="".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%"))


def _query_pairs(name: str, value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [f"{quote(name, safe=QUERY_SAFE)}={quote(_to_text(item), safe=QUERY_SAFE)}" for item in values]
