"""Samples tool arguments from JSON Schemas: always valid, but correct only by chance."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from companyos.policies.patterns import UnsupportedPatternError, sample_match
from companyos_shared.streams import Stream

_OPTIONAL_CHANCE = 0.25
_KNOWN_ID_CHANCE = 0.5
_SEEN_CHANCE = 0.8
_SPREAD = timedelta(days=30)
_MAX_NUMBER = 1_000
_MAX_ITEMS = 3
_MAX_WORDS = 6
_WORDS = ("please", "check", "update", "vendor", "request", "review", "quarter", "report", "approved", "urgent", "data")
_ID_NAME = re.compile(r"(?:^|_)(?:id|key|ref|subject)$")
_NAMED_ID = re.compile(r"\b(?=[\w-]*\d)[A-Za-z]\w*(?:-\w+)+\b")


@dataclass(frozen=True)
class SamplingContext:
    """Values for sampling: ids in the task, the simulated time, and values seen under a name."""

    ids: Sequence[str]
    now: datetime
    seen: Mapping[str, Sequence[Any]] = field(default_factory=dict)


def ids_in(text: str) -> list[str]:
    """Return the ids in a text, such as OPS-1042, in order of their first occurrence."""
    return list(dict.fromkeys(_NAMED_ID.findall(text)))


def sample_arguments(schema: Mapping[str, Any], stream: Stream, context: SamplingContext) -> dict[str, Any]:
    """Return arguments that match the schema: all required ones, and each optional one with probability 1/4."""
    return _ArgumentSampler(schema, stream, context).object(schema)


class _ArgumentSampler:
    def __init__(self, root: Mapping[str, Any], stream: Stream, context: SamplingContext) -> None:
        self._root = root
        self._stream = stream
        self._context = context

    def object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        properties = schema.get("properties", {})
        return {name: self.value(properties[name], name) for name in self._names(schema)}

    def _names(self, schema: Mapping[str, Any]) -> list[str]:
        """Draw the properties to set, within the schema's limits and in its order."""
        properties, required = list(schema.get("properties", {})), list(schema.get("required", ()))
        selected = {name for name in properties if name in required or self._stream.chance(_OPTIONAL_CHANCE)}
        minimum, maximum = schema.get("minProperties", 0), schema.get("maxProperties", len(properties))
        if len(selected) < minimum:
            selected |= set(
                self._stream.sample([name for name in properties if name not in selected], minimum - len(selected))
            )
        if len(selected) > maximum:
            optional = [name for name in properties if name in selected and name not in required]
            selected = {*required, *self._stream.sample(optional, maximum - len(required))}
        return [name for name in properties if name in selected]

    def value(self, schema: Mapping[str, Any], name: str) -> Any:
        schema = self._resolve(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._stream.choice(schema["enum"])
        match self._type(schema):
            case "string":
                return self._string(schema, name)
            case "integer":
                return self._stream.integer(*_bounds(schema))
            case "number":
                low, high = _bounds(schema)
                return low + round(self._stream.fraction() * (high - low), 2)
            case "boolean":
                return self._stream.chance(0.5)
            case "array":
                count = self._stream.integer(schema.get("minItems", 0), schema.get("maxItems", _MAX_ITEMS))
                return [self.value(schema.get("items", {"type": "string"}), name) for _ in range(count)]
            case "object":
                return self.object(schema)
            case _:
                return None

    def _resolve(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        while True:
            if "$ref" in schema:
                schema = self._resolve_pointer(schema["$ref"])
            elif variants := schema.get("anyOf") or schema.get("oneOf"):
                schema = self._stream.choice(variants)
            else:
                return schema

    def _resolve_pointer(self, pointer: str) -> Mapping[str, Any]:
        value: Mapping[str, Any] = self._root
        for part in pointer.removeprefix("#/").split("/"):
            value = value[part]
        return value

    def _type(self, schema: Mapping[str, Any]) -> str:
        declared = schema.get("type", "object" if "properties" in schema else "string")
        return declared if isinstance(declared, str) else self._stream.choice(declared)

    def _string(self, schema: Mapping[str, Any], name: str) -> str:
        match schema.get("format"):
            case "date-time":
                return f"{self._random_moment():%Y-%m-%dT%H:%M:%SZ}"
            case "date":
                return f"{self._random_moment():%Y-%m-%d}"
        pattern = schema.get("pattern", "")
        known: list[str] = [candidate for candidate in self._context.seen.get(name, ()) if _fits(candidate, schema)]
        if known and self._stream.chance(_SEEN_CHANCE):
            return self._stream.choice(known)
        fitting = [known for known in self._context.ids if re.search(pattern, known)]
        if fitting and _ID_NAME.search(name) and self._stream.chance(_KNOWN_ID_CHANCE):
            return self._stream.choice(fitting)
        if pattern:
            try:
                return sample_match(pattern, self._stream)
            except UnsupportedPatternError:
                pass
        return self._words(schema.get("minLength", 0), schema.get("maxLength", 200))

    def _random_moment(self) -> datetime:
        minutes = int(_SPREAD.total_seconds() // 60)
        return self._context.now + timedelta(minutes=self._stream.integer(-minutes, minutes))

    def _words(self, min_length: int, maximum: int) -> str:
        count = self._stream.integer(1, _MAX_WORDS)
        text = " ".join(self._stream.choice(_WORDS) for _ in range(count))
        while len(text) < min_length:
            text += f" {self._stream.choice(_WORDS)}"
        return text[:maximum].rstrip().ljust(min_length, "x")


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return whether a seen value matches a string schema."""
    if not isinstance(value, str) or not re.search(schema.get("pattern", ""), value):
        return False
    return bool(schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)))


def _bounds(schema: Mapping[str, Any]) -> tuple[int, int]:
    low = int(schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1))
    high = int(schema.get("maximum", schema.get("exclusiveMaximum", max(low, 0) + _MAX_NUMBER + 1) - 1))
    return low, high
