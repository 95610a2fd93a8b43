"""Checklists of texts.toml: each item names the rows that an agent has to read before it completes the item."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.checklist import BackingRow
from companyos_gateway.world.builder import WorldBuilder

Checklists = Mapping[str, Sequence[Mapping[str, Any]]]
"""The `checklists` of texts.toml: items with `text` and `shows`, by the name of the list."""

BackingIds = Mapping[str, Sequence[str]]
"""IDs of rows by the names that `shows` may contain. If a name has several, the agent has to be shown one of them."""

Backing = tuple[tuple[BackingRow, ...], ...]


class ChecklistError(ValueError):
    """Raised if an item names no row, or different rows in two lists; the message states the place in texts.toml."""


def _names_in(item: Mapping[str, Any]) -> list[str]:
    """Return the names in `shows`: one, or several that are all required."""
    shows: str | list[str] = item["shows"]
    return [shows] if isinstance(shows, str) else shows


def resolve_checklists(world: WorldBuilder, checklists: Checklists, ids: BackingIds) -> dict[str, Backing]:
    """Return the rows that back each item, by the item's text. Raises ChecklistError."""
    rows = dict(_rows_by_id(world, {one for named in ids.values() for one in named}))
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


def _rows_by_id(world: WorldBuilder, named_ids: Collection[str]) -> Iterator[tuple[str, BackingRow]]:
    """Yield the named rows that can back an item, by the ids under which responses show them."""
    datahub, approvalflow = world.datahub, world.approvalflow
    for service, table, ids in (
        (row_views.DATAHUB, "records", [row.id for row in datahub.records]),
        (row_views.DATAHUB, "vendors", [row.id for row in datahub.vendors]),
        (row_views.DATAHUB, "people", [row.id for row in world.staff.people]),
        (row_views.DATAHUB, "sources", [row.id for row in datahub.sources]),
        (row_views.DATAHUB, "metrics", [row.id for row in datahub.metrics]),
        (row_views.TICKETDESK, "tickets", [row.key for row in world.ticketdesk.tickets]),
        (row_views.APPROVALFLOW, "approval_types", [row.key for row in approvalflow.approval_types]),
        (row_views.APPROVALFLOW, "requests", [row.id for row in approvalflow.requests]),
    ):
        yield from ((one, BackingRow(service, table, one)) for one in ids if one in named_ids)
    for policy in datahub.policies:
        row = BackingRow(row_views.DATAHUB, "policies", policy.policy_id, policy.version)
        is_in_force = policy.effective_from <= world.today <= (policy.effective_to or date.max)
        ids = [policy.id, policy.policy_id] if is_in_force else [policy.id]
        yield from ((one, row) for one in ids if one in named_ids)
