"""Checklists of texts.toml: each item names the rows that an agent looks up before it ticks the item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.checklist import BackingRow
from companyos_gateway.world.builder import WorldBuilder

Checklists = Mapping[str, Sequence[Mapping[str, Any]]]
"""The `checklists` of texts.toml: items with `text` and `shows`, by the name of the list."""

BackingIds = Mapping[str, Sequence[str]]
"""The ids of the rows that `shows` may name, by name. Of several, the agent has to be shown one."""

Backing = tuple[tuple[BackingRow, ...], ...]


class ChecklistError(ValueError):
    """Raised for an item that names no row, or different ones in two lists; the text names the place in texts.toml."""


def _names_in(item: Mapping[str, Any]) -> list[str]:
    """Return the names in `shows`: one, or several that are all required."""
    shows: str | list[str] = item["shows"]
    return [shows] if isinstance(shows, str) else shows


def resolve_checklists(world: WorldBuilder, checklists: Checklists, ids: BackingIds) -> dict[str, Backing]:
    """Return what backs each item, by its text. Raises ChecklistError."""
    rows = dict(_rows_by_id(world))
    found = {
        name: tuple(rows[one] for one in named) for name, named in ids.items() if all(one in rows for one in named)
    }
    backing: dict[str, Backing] = {}
    shown: dict[str, list[str]] = {}
    for list_name, items in checklists.items():
        for number, item in enumerate(items):
            text, names, place = item["text"], _names_in(item), f"checklists.{list_name}[{number}].shows"
            for name in names:
                if not found.get(name):
                    accepted = ", ".join(sorted(found))
                    raise ChecklistError(f"{place}: must name a row by one of {accepted}; got {name!r}")
            if shown.setdefault(text, names) != names:
                raise ChecklistError(f"{place}: must be {shown[text]} as for the same text before; got {names}")
            backing[text] = tuple(found[name] for name in names)
    return backing


def _rows_by_id(world: WorldBuilder) -> Iterator[tuple[str, BackingRow]]:
    """Yield every row that can back an item, by the id under which responses show it."""
    datahub = world.datahub
    for table, ids in (
        ("records", [row.id for row in datahub.records]),
        ("vendors", [row.id for row in datahub.vendors]),
        ("people", [row.id for row in world.staff.people]),
        ("sources", [row.id for row in datahub.sources]),
        ("metrics", [row.id for row in datahub.metrics]),
    ):
        yield from ((one, BackingRow(row_views.DATAHUB, table, one)) for one in ids)
    for policy in datahub.policies:
        yield policy.policy_id, BackingRow(row_views.DATAHUB, "policies", policy.policy_id)
        yield policy.id, BackingRow(row_views.DATAHUB, "policies", policy.policy_id, policy.version)
    for ticket in world.ticketdesk.tickets:
        yield ticket.key, BackingRow(row_views.TICKETDESK, "tickets", ticket.key)
    for kind in world.approvalflow.approval_types:
        yield kind.key, BackingRow(row_views.APPROVALFLOW, "approval_types", kind.key)
    for request in world.approvalflow.requests:
        yield request.id, BackingRow(row_views.APPROVALFLOW, "requests", request.id)
