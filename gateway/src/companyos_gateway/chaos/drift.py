"""Schema drift: response fields with other names in one episode, and tools with reworded descriptions.

Tool names and arguments stay unchanged, because clients cache them. The possible field names are published in
`synonyms.toml`, and a tool's description lists the renamed fields of its responses.
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
"""Maximum number of renamed fields of one service."""

MAX_REWORDED = 8
ALWAYS_RENAMED: Mapping[str, str] = {"ticketdesk": "status"}
"""Field by service that is always among the renamed ones, because no task can be done without reading it."""

FREE_FORM = frozenset({"fields", "parameters"})
"""Members that contain company data: nothing inside them is renamed."""

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Drift:
    """Schema drift: renamed fields by service, reworded descriptions by tool."""

    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)

    def rename_response_fields(self, service: str, payload: Any) -> Any:
        """Return a service's response with the field names of this episode."""
        names = self.names.get(service)
        return _renamed(payload, names) if names else payload

    def restore_response_fields(self, service: str, payload: Any) -> Any:
        """Return a response with the service's own field names."""
        names = {renamed: usual for usual, renamed in self.names.get(service, {}).items()}
        return _renamed(payload, names) if names else payload

    def describe_tool(self, tool: str, service: str | None, description: str, answers: Collection[str]) -> str:
        """Return a tool's description in this episode; `answers` are the fields of its responses."""
        names = self.names.get(service or "", {})
        renamed = [f"`{usual}` is called `{name}`" for usual, name in names.items() if usual in answers]
        sentence = [f"In responses, {' and '.join(renamed)}."] if renamed else []
        return " ".join([self.words.get(tool, description), *sentence])


def draw_field_names(stream: Stream, always_renamed: Mapping[str, str] = ALWAYS_RENAMED) -> dict[str, dict[str, str]]:
    """Draw the renamed fields and their new names, one to MAX_RENAMED in each service."""
    drawn = {}
    for service, table in synonyms().items():
        own, always = stream.child(service), always_renamed.get(service)
        count = own.integer(1, MAX_RENAMED)
        usual = sorted(own.shuffled(sorted(table)), key=lambda name: name != always)[:count]
        drawn[service] = {name: own.choice(table[name]) for name in sorted(usual)}
    return drawn


def draw_tool_descriptions(stream: Stream) -> dict[str, str]:
    """Draw the tools with another description, and the description of each."""
    table = rewordings()
    tools = stream.sample(sorted(table), stream.integer(MAX_REWORDED // 2, MAX_REWORDED))
    return {tool: stream.choice(table[tool]) for tool in sorted(tools)}


@cache
def synonyms() -> Mapping[str, Mapping[str, list[str]]]:
    """Return the possible field names, by service and usual name; the mapping is shared and must not be changed."""
    return tomllib.loads((_FOLDER / "synonyms.toml").read_text(encoding="utf-8"))


@cache
def rewordings() -> Mapping[str, list[str]]:
    """Return the alternative descriptions by tool; the mapping is shared and must not be changed."""
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
