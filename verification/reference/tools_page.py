"""Renders docs/tools.md: one table row per tool, grouped by service."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from companyos.contract import ToolSpec
from verification.reference.markdown import PROSE, bullet, document, paragraph, table

_TITLES = {"ticketdesk": "TicketDesk", "datahub": "DataHub", "approvalflow": "ApprovalFlow"}
_ITSELF = "Environment"
_BYTES_PER_TOKEN = 4

_HEAD = ("tool", "description", "arguments")
_COMMON: Mapping[str, str] = PROSE["tools"]["common"]
_UNLISTED = {*_COMMON, "cursor"}


def tools_page(tools: Sequence[ToolSpec]) -> str:
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
        "**Bold** arguments are required. Some arguments are common to many tools and are not repeated in the tables:",
        "\n".join(bullet(f"`{name}`: {text}") for name, text in _COMMON.items()),
        *(part for title, group in ordered for part in (f"## {title}", table(_HEAD, map(_row, group)))),
        *_reasons(tools),
    )


def _row(tool: ToolSpec) -> tuple[str, str, str]:
    required = tool.input_schema.get("required", ())
    names = [name for name in tool.input_schema.get("properties", {}) if name not in _UNLISTED]
    ordered = sorted(names, key=lambda name: name not in required)
    return f"`{tool.name}`", tool.description, ", ".join(_argument(name, name in required) for name in ordered)


def _argument(name: str, is_required: bool) -> str:
    return f"**{name}**" if is_required else name


def _reasons(tools: Sequence[ToolSpec]) -> Iterator[str]:
    """Return the section about reasons, which several tools accept."""
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
    count = len(json.dumps(specs, separators=(",", ":"), ensure_ascii=False).encode()) // _BYTES_PER_TOKEN
    return round(count, -1)
