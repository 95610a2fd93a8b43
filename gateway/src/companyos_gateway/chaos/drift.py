"""Drift: fields of answers that have another name in one episode, and tools that are described in other words.

Names and arguments of tools stay what they are: clients keep them. The names that fields may take are published in
`synonyms.toml`, and a tool's description says which of its answers' fields have one of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from companyos_shared.streams import Stream

MAX_RENAMED = 2
"""Fields of one service that are named otherwise at once."""

MAX_REWORDED = 8
ALWAYS_RENAMED: Mapping[str, str] = {"ticketdesk": "status"}
"""This field is renamed whenever any field is, because no task can be done without reading it."""

FREE_FORM = frozenset({"fields", "parameters"})
"""Members whose own members are the company's data: nothing inside them is renamed."""

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Drift:
    """Schema drift: renamed fields by service, reworded descriptions by tool."""

    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)

    def rename_response_fields(self, service: str, payload: Any) -> Any:
        """Return what a service answered as it reads in this episode."""
        names = self.names.get(service)
        return _renamed(payload, names) if names else payload

    def restore_response_fields(self, service: str, payload: Any) -> Any:
        """Return a response as the service gave it."""
        names = {renamed: usual for usual, renamed in self.names.get(service, {}).items()}
        return _renamed(payload, names) if names else payload

    def describe_tool(self, tool: str, service: str | None, description: str, answers: Collection[str]) -> str:
        """Return the description of a tool whose answers have these fields."""
        names = self.names.get(service or "", {})
        renamed = [f"Answers say `{name}` for `{usual}`." for usual, name in names.items() if usual in answers]
        return " ".join([self.words.get(tool, description), *renamed])


def draw_field_names(stream: Stream, always_renamed: Mapping[str, str] = ALWAYS_RENAMED) -> dict[str, dict[str, str]]:
    """Draw which fields have another name, in each service at least one and at most MAX_RENAMED."""
    drawn = {}
    for service, table in synonyms().items():
        own, always = stream.child(service), always_renamed.get(service)
        count = own.integer(1, MAX_RENAMED)
        usual = sorted(own.shuffled(sorted(table)), key=lambda name: name != always)[:count]
        drawn[service] = {name: own.choice(table[name]) for name in sorted(usual)}
    return drawn


def draw_tool_descriptions(stream: Stream) -> dict[str, str]:
    """Draw which tools are described otherwise, and how."""
    table = rewordings()
    tools = stream.sample(sorted(table), stream.integer(MAX_REWORDED // 2, MAX_REWORDED))
    return {tool: stream.choice(table[tool]) for tool in sorted(tools)}


@cache
def synonyms() -> Mapping[str, Mapping[str, list[str]]]:
    """Return the names that fields may have, by service and usual name; shared and not to be changed."""
    return tomllib.loads((_FOLDER / "synonyms.toml").read_text(encoding="utf-8"))


@cache
def rewordings() -> Mapping[str, list[str]]:
    """Return the other words for tools, by tool; shared and not to be changed."""
    return tomllib.loads((_FOLDER / "rewordings.toml").read_text(encoding="utf-8"))


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_renamed(part, names) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        names.get(name, name): part if name in FREE_FORM and isinstance(part, dict) else _renamed(part, names)
        for name, part in value.items()
    }
