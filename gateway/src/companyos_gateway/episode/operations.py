"""From a service's OpenAPI document to its operations: the one list of tools is the services' own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import quote

import orjson

from companyos_gateway.episode.link import ServiceCall
from companyos_gateway.episode.schemas import enforced, nullable, published

METHODS = ("get", "post", "put", "patch", "delete")
READ_MINUTES = 1
WRITE_MINUTES = 3

_JSON = "application/json"
PATH_SAFE = "!$'()*,&=;@:"
QUERY_SAFE = "!$'()*,?/:@"
"""What the HTTP libraries leave as it is, or would decode again: a target has the one spelling that is signed."""

_PATH_TEXT = {"minLength": 1, "not": {"enum": [".", ".."]}, "pattern": r"^[^/\\\x00-\x1f\x7f]*$"}


class Place(StrEnum):
    """Where an argument travels."""

    PATH = "path"
    QUERY = "query"
    HEADER = "header"
    BODY = "body"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool: `wire_name` is the service's own name for it."""

    name: str
    wire_name: str
    place: Place
    required: bool
    shown: dict[str, Any]
    enforced: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a service, with all that a call needs."""

    service: str
    operation_id: str
    description: str
    method: str
    path: str
    minutes: int
    has_body: bool
    arguments: Mapping[str, Argument] = field(repr=False)
    answers: frozenset[str] = field(default=frozenset(), repr=False)
    """The names of all fields that its answer may hold, at any depth."""

    @property
    def tool_name(self) -> str:
        """The name on the agent's side."""
        return f"{self.service}_{self.operation_id}"

    @property
    def is_read(self) -> bool:
        """Whether the operation writes nothing."""
        return self.method == "GET"

    def entity(self, arguments: Mapping[str, Any]) -> str:
        """Return what the call is about: its path arguments, or nothing."""
        parts = (str(arguments[name]) for name, spec in self.arguments.items() if spec.place is Place.PATH)
        return "/".join(parts)

    def call_of(self, arguments: Mapping[str, Any]) -> ServiceCall:
        """Return the HTTP request of a call whose arguments fit."""
        path, query, headers, body = self.path, [], {}, {}
        for name, value in arguments.items():
            spec = self.arguments[name]
            if spec.place is Place.BODY:
                body[spec.wire_name] = value
            elif value is None:
                continue
            elif spec.place is Place.PATH:
                path = path.replace(f"{{{spec.wire_name}}}", quote(_text(value), safe=PATH_SAFE))
            elif spec.place is Place.QUERY:
                query.extend(_pairs(spec.wire_name, value))
            else:
                headers[spec.wire_name] = _header_text(value)
        target = f"{path}?{'&'.join(query)}" if query else path
        return ServiceCall(self.method, target, orjson.dumps(body) if self.has_body else b"", headers or None)


def operations_of(service: str, document: dict[str, Any]) -> Iterator[Operation]:
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
    found = [*_parameters([*shared, *operation.get("parameters", [])], document), *_body_arguments(body, document)]
    for argument in found:
        if argument.name in arguments:
            raise ValueError(f"{service}.{operation['operationId']} has two arguments named {argument.name}")
        arguments[argument.name] = argument
    return Operation(
        service=service,
        operation_id=operation["operationId"],
        description=_first_paragraph(operation.get("description") or operation.get("summary") or ""),
        method=method.upper(),
        path=path,
        minutes=int(operation.get("x-minutes", READ_MINUTES if method == "get" else WRITE_MINUTES)),
        has_body=body is not None,
        arguments=arguments,
        answers=frozenset(_answered(operation, document)),
    )


def _answered(operation: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    """Yield the names of the fields in the answers of an operation that was carried out."""
    for status, response in operation.get("responses", {}).items():
        schema = response.get("content", {}).get(_JSON, {}).get("schema")
        if status.startswith("2") and schema:
            yield from _names_in(published(schema, document))


def _names_in(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for part in schema:
            yield from _names_in(part)
    elif isinstance(schema, dict):
        for word, part in schema.items():
            if word == "properties":
                yield from part
                yield from _names_in(list(part.values()))
            else:
                yield from _names_in(part)


def _parameters(parameters: list[dict[str, Any]], document: dict[str, Any]) -> Iterator[Argument]:
    for parameter in parameters:
        place = Place(parameter["in"])
        schema = parameter.get("schema", {})
        shown, rule = published(schema, document), enforced(schema, document)
        if "description" in parameter:
            shown["description"] = parameter["description"]
        if place is Place.PATH and shown.get("type") == "string":
            rule = {"allOf": [rule, _PATH_TEXT]}
        required = bool(parameter.get("required"))
        if not required:
            rule = nullable(rule)
        name = parameter["name"].lower().replace("-", "_") if place is Place.HEADER else parameter["name"]
        yield Argument(name, parameter["name"], place, required, shown, rule)


def _body_arguments(body: dict[str, Any] | None, document: dict[str, Any]) -> Iterator[Argument]:
    if body is None:
        return
    schema = body["content"][_JSON]["schema"]
    shown, rule = published(schema, document), enforced(schema, document)
    if "properties" not in shown:
        raise ValueError("a request body that is no object of named properties cannot be flattened")
    required = set(shown.get("required", ()))
    for name, part in shown["properties"].items():
        yield Argument(name, name, Place.BODY, name in required, part, rule["properties"][name])


def _first_paragraph(text: str) -> str:
    return " ".join(text.strip().split("\n\n", 1)[0].split())


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _header_text(value: Any) -> str:
    return quote(_text(value), safe="".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%"))


def _pairs(name: str, value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [f"{quote(name, safe=QUERY_SAFE)}={quote(_text(item), safe=QUERY_SAFE)}" for item in values]
