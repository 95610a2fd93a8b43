"""The rule book: policies in versions, of which one is in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from companyos_gateway.world.documents.datahub import PolicyRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.pools import pool
from companyos_shared.streams import Stream

MOST_VERSIONS = 3
_VERSION_DAYS = (120, 500)
_STEP = {"cents": 500, "days": 1}


@dataclass(frozen=True)
class PolicyText:
    """A policy without its figures: `body` holds slots named like its parameters."""

    policy_id: str
    title: str
    topic: str
    body: str


def draw_policies(world: World, stream: Stream) -> None:
    """Draw the rule book. Earlier versions stay, each up to the day before the next."""
    entries = pool("policies")["policy"]
    numbers = stream.sample(range(1, 60), len(entries) + 1)
    for entry, number in zip(entries, numbers, strict=False):
        text = PolicyText(f"POL-{number:03d}", entry["title"], entry["topic"], entry["body"])
        count = stream.integer(1, MOST_VERSIONS)
        figures = [_figures(stream, entry["parameters"]) for _ in range(count)]
        add_policy(world, stream, text, figures)
    world.free_policy_id = f"POL-{numbers[-1]:03d}"


def add_policy(
    world: World, stream: Stream, text: PolicyText, figures: list[dict[str, Any]], *, from_day: date | None = None
) -> list[PolicyRow]:
    """Add a policy with one version for each set of figures; the last is in force. Returns the versions."""
    first_day = from_day or world.today - timedelta(days=stream.integer(15, 300))
    last_day: date | None = None
    versions: list[PolicyRow] = []
    for version in range(len(figures), 0, -1):
        values: Mapping[str, Any] = figures[version - 1]
        versions.append(
            PolicyRow(
                id=f"{text.policy_id}-v{version}",
                policy_id=text.policy_id,
                version=version,
                title=text.title,
                topic=text.topic,
                body=text.body.format_map(values),
                parameters=dict(values),
                effective_from=first_day,
                effective_to=last_day,
            )
        )
        last_day = first_day - timedelta(days=1)
        first_day = last_day - timedelta(days=stream.integer(*_VERSION_DAYS))
    versions.reverse()
    world.hub.policies.extend(versions)
    return versions


def policy_in_force(world: World, topic: str) -> PolicyRow:
    """Return the version in force of the policy on a topic."""
    return next(row for row in reversed(world.hub.policies) if row.topic == topic and row.effective_to is None)


def _figures(stream: Stream, parameters: Mapping[str, list[int]]) -> dict[str, Any]:
    values = {}
    for name, (low, high) in parameters.items():
        step = _STEP.get(name.rsplit("_", 1)[-1], 1)
        values[name] = step * stream.integer(-(-low // step), high // step)
    return values
