"""Injects hostile text into the calls of a service's tools, in every place for free text that their schemas contain."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from companyos.policies.arguments import SamplingContext, sample_arguments
from companyos_gateway.engine.toolbox import Tool
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.streams import Stream
from companyos_shared.wire.control import Rows
from tests.contract.calls import carry, ids_of
from tests.payloads import MARK_CHARS, PAYLOADS, marked

ArgumentLocation = tuple[str, ...]
ITEM, MEMBER = "[]", "{}"
"""Placeholders in a location: an item of a list, and any member of an object."""

_REFUSED = 400


@dataclass
class InjectedPayloads:
    """Injected texts by mark, the tried places, and the places that accepted one."""

    texts: dict[str, str] = field(default_factory=dict)
    tried: set[tuple[str, ArgumentLocation]] = field(default_factory=set)
    taken: set[tuple[str, ArgumentLocation]] = field(default_factory=set)


def text_places(schema: Mapping[str, Any], place: ArgumentLocation = ()) -> Iterator[ArgumentLocation]:
    """Yield every place of a schema that accepts any text: without enumeration, format or id pattern."""
    if "enum" in schema or "const" in schema or "format" in schema:
        return
    match schema.get("type"):
        case "string":
            yield place
        case "array":
            yield from text_places(schema.get("items", {}), (*place, ITEM))
        case "object":
            for name, inner in schema.get("properties", {}).items():
                yield from text_places(inner, (*place, name))
            if schema.get("additionalProperties"):
                yield (*place, MEMBER)


def schema_at(schema: Mapping[str, Any], place: ArgumentLocation) -> Mapping[str, Any]:
    """Return the schema of a place."""
    for name in place:
        schema = {} if name == MEMBER else schema["items"] if name == ITEM else schema["properties"][name]
    return schema


async def inject_payloads(harness: ServiceHarness, tools: list[Tool], *, calls: int, hostile: bool) -> InjectedPayloads:
    """Make calls with text in every place in turn. `hostile` changes only the text."""
    injected, stream = InjectedPayloads(), Stream("contract", "payloads")
    places = [(tool, place) for tool in tools for place in text_places(tool.input_schema)]
    rows = (await harness.evidence()).initial
    around = SamplingContext(ids=ids_of(rows), now=harness.now, seen=_seen(rows))
    members = _member_names(rows)
    texts = list(PAYLOADS.values())
    for number in range(calls):
        tool, place = places[number % len(places)]
        assert tool.operation is not None
        child = stream.child(number)
        arguments = sample_arguments(tool.input_schema, child, around) | _of_a_row(tool, rows, child)
        whole = marked(number, texts[(number + number // len(places)) % len(texts)] if hostile else "plain words")
        text = whole[: schema_at(tool.input_schema, place).get("maxLength")]
        arguments = _placed(arguments, tool.input_schema, place, text, child.choice(members))
        answer = await carry(harness, tool.operation, arguments)
        assert answer.status_code < 500, (tool.name, arguments, answer.text)
        injected.tried.add((tool.name, place))
        if answer.status_code < _REFUSED:
            injected.taken.add((tool.name, place))
            injected.texts[text[:MARK_CHARS]] = text
        if child.chance(0.1):
            await harness.advance(minutes=child.integer(1, 90))
    return injected


def _seen(rows: Rows) -> dict[str, list[Any]]:
    """Return values that the service contains, by the argument names of tools."""
    seen: dict[str, set[str]] = {}
    for table, of_table in rows.items():
        seen.setdefault(f"{table.removesuffix('s')}_id", set()).update(of_table)
        for row in of_table.values():
            for name, value in row.items():
                if isinstance(value, str):
                    seen.setdefault(name, set()).add(value)
    return {name: sorted(values) for name, values in seen.items()}


def _of_a_row(tool: Tool, rows: Rows, stream: Stream) -> dict[str, Any]:
    """Return arguments from an existing row, so that they are consistent with each other."""
    names = tool.input_schema.get("properties", {})
    tables = [table for table, of_table in sorted(rows.items()) if of_table]
    row = stream.choice([rows[table][stream.choice(sorted(rows[table]))] for table in tables])
    if not stream.chance(0.7):
        return {}
    return {name: deepcopy(row[name]) for name in names if row.get(name) is not None and name != "version"}


def _placed(value: Any, schema: Mapping[str, Any], place: ArgumentLocation, text: str, member: str) -> Any:
    """Return the value with a text at a place."""
    if not place:
        return text
    name, *rest = place
    if name == ITEM:
        return [_placed(None, schema["items"], tuple(rest), text, member)]
    found, inner = (member, {}) if name == MEMBER else (name, schema["properties"][name])
    members = dict(value) if isinstance(value, dict) else {}
    return members | {found: _placed(members.get(found), inner, tuple(rest), text, member)}


def _member_names(rows: Rows) -> list[str]:
    """Return the member names of objects inside rows, and the field names that rows define."""
    found = {"note"}
    for row in (row for of_table in rows.values() for row in of_table.values()):
        for value in row.values():
            if isinstance(value, dict):
                found |= set(value)
            elif isinstance(value, list):
                found |= {
                    one[name] for one in value if isinstance(one, dict) for name in ("name", "key") if name in one
                }
    return sorted(found)


def missing_places(injected: InjectedPayloads) -> str:
    """Return the places that accepted no text, for a failed assertion."""
    return json.dumps(sorted(f"{tool}.{'.'.join(place)}" for tool, place in injected.tried - injected.taken))
