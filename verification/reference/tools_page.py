"""The page about tools: what an agent can call, service by service, with an example of each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from companyos.contract import ToolSpec
from verification.reference.markdown import bullet, document, paragraph, table
from verification.reference.texts import PROSE, read_texts

_TITLES = {"ticketdesk": "TicketDesk", "datahub": "DataHub", "approvalflow": "ApprovalFlow"}
_ITSELF = "The environment itself"
_BYTES_PER_TOKEN = 4

_COMMON: Mapping[str, str] = PROSE["tools"]["common"]


def tools_page(tools: Sequence[ToolSpec]) -> str:
    """Return the page about these tools."""
    by_service: dict[str, list[ToolSpec]] = {}
    for tool in tools:
        by_service.setdefault(_title(tool), []).append(tool)
    ordered = sorted(by_service.items(), key=lambda entry: _sort_key(entry[0]))
    details = PROSE["tools"]["introduction"].format(
        count=len(tools), services=len(by_service) - 1, tokens=_tokens(tools)
    )
    return document(
        "# Tools",
        paragraph(details),
        paragraph(PROSE["tools"]["refusals"]),
        "Arguments in **bold** are required. Some mean the same everywhere:",
        "\n".join(bullet(f"`{name}`: {text}") for name, text in _COMMON.items()),
        *(part for title, group in ordered for part in _service(title, group)),
        *_reasons(tools),
    )


def example_of(tool: ToolSpec) -> dict[str, Any]:
    """Return the arguments of an example call. Raises KeyError for a required argument that no example is known of."""
    examples = read_texts("examples")
    arguments: dict[str, Any] | None = examples["calls"].get(tool.name)
    if arguments is not None:
        return arguments
    return {name: examples["arguments"][name] for name in tool.input_schema.get("required", ())}


def _service(title: str, tools: Sequence[ToolSpec]) -> Iterator[str]:
    yield f"## {title}"
    yield table(("tool", "what it does"), ((f"[{tool.name}](#{tool.name})", tool.description) for tool in tools))
    for tool in tools:
        yield f"### {tool.name}"
        yield tool.description
        arguments = _arguments(tool)
        if arguments:
            yield arguments
        call = {"tool_name": tool.name, "arguments": example_of(tool)}
        yield f"```json\n{json.dumps(call, ensure_ascii=False)}\n```"


def _arguments(tool: ToolSpec) -> str:
    required = tool.input_schema.get("required", ())
    named: Mapping[str, Any] = tool.input_schema.get("properties", {})
    special = [name for name in named if name in _COMMON or name == "cursor"]
    ordered = sorted((name for name in named if name not in special), key=lambda name: name not in required)
    lines = [bullet(f"{_named(name, name in required)}: {_type(named[name], name)}") for name in ordered]
    if special:
        lines.append(bullet(", ".join(f"`{name}`" for name in special)))
    return "\n".join(lines)


def _named(name: str, is_required: bool) -> str:
    return f"**`{name}`**" if is_required else f"`{name}`"


def _type(schema: Mapping[str, Any], name: str) -> str:
    details = schema.get("description", "")
    kind = "[reason](#reasons)" if name == "reason_code" else _kind(schema)
    return f"{kind}. {details}" if details else kind


def _kind(schema: Mapping[str, Any]) -> str:
    if variants := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_kind(variant) for variant in variants)
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    found = str(schema.get("format") or schema.get("type", "anything"))
    if found == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return _KINDS.get(found, found)


_KINDS = {
    "string": "text",
    "integer": "whole number",
    "date-time": "moment",
    "boolean": "true or false",
    "object": "object",
}


def _reasons(tools: Sequence[ToolSpec]) -> Iterator[str]:
    """Tell the reasons once; several tools take them."""
    offered = (tool.input_schema.get("properties", {}).get("reason_code", {}).get("enum") for tool in tools)
    reasons = next(filter(None, offered), None)
    if reasons:
        yield "## Reasons"
        named = ", ".join(f"`{reason}`" for reason in reasons)
        yield paragraph(PROSE["tools"]["reasons"].format(reasons=named))


def _title(tool: ToolSpec) -> str:
    service, underscore, _ = tool.name.partition("_")
    return _TITLES.get(service, service.capitalize()) if underscore else _ITSELF


def _sort_key(title: str) -> tuple[int, str]:
    order = [*_TITLES.values()]
    return (order.index(title), title) if title in order else (len(order) + (title == _ITSELF), title)


def _tokens(tools: Sequence[ToolSpec]) -> int:
    specs = [tool.model_dump() for tool in tools]
    return len(json.dumps(specs, separators=(",", ":"), ensure_ascii=False).encode()) // _BYTES_PER_TOKEN
