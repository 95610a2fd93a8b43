"""Wrong ends beyond entry ticket and requests: every other row of the task, and every table that it leaves alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from companyos_gateway.proof.states.bends import DESK, FLOW, HUB, Bends, Row, Way, setting, undoing, values_beside
from companyos_gateway.proof.states.tickets import STATUSES
from companyos_gateway.rubrics.evidence import NetChange
from companyos_gateway.rubrics.facts import BOOKKEEPING

_TOLD_ELSEWHERE = frozenset({(DESK, "checklist_items"), (FLOW, "requests")})
_FOLLOWS = frozenset(
    {"transitions", "removed_links", "comments", "notes", "decisions", "metric_values", "refresh_jobs"}
)
"""Tables that follow from others, or are free on the task's own entities."""

_FIXED: dict[tuple[str, str], dict[str, tuple[Any, ...]]] = {
    (DESK, "tickets"): {
        "status": STATUSES,
        "verified_at": ("2031-01-01T00:00:00Z",),
        "title": ("Something else",),
    },
    (HUB, "records"): {
        "state": ("draft",),
        "title": ("x",),
        "owner_id": ("E-0000",),
        "amount_cents": (1,),
        "ends_on": (None,),
    },
}

_NAMES = ("state", "status", "priority")
_ENDINGS = ("_id", "_key", "_ref", "_cents", "_on", "_iban", "limit", "kind", "role")


def record_bends(way: Way) -> Bends:
    """Yield every other row that the work has changed, bent in one column."""
    for net in way.nets:
        if net.after is None or net.added or net.key == way.key:
            continue
        if (net.service, net.table) in _TOLD_ELSEWHERE or net.table in _FOLLOWS or net.table == "metrics":
            continue
        yield from _row_bends(net, net.after)


def left_alone_bends(way: Way) -> Bends:
    """Yield a row added, changed and deleted in every table, where it is none of the task's."""
    for service, tables in way.kept.stored["initial"].items():
        touched = {change["key"] for change in way.kept.stored["changes"].get(service, [])}
        for table, rows in tables.items():
            left = sorted(key for key, row in rows.items() if key not in touched and not way.is_named_in(row))
            for key in left[:1]:
                yield from _touches(service, table, key, rows[key])


def _row_bends(net: NetChange, row: Row) -> Bends:
    place, service, table, key = f"{net.table} {net.key}", net.service, net.table, net.key
    if net.columns - BOOKKEEPING:  # a vendor counts a new version when a certificate of its own is filed
        yield f"{place}: undone", undoing(service, table, key, *sorted(net.columns))
    yield f"{place}: deleted", lambda ending: ending.delete(service, table, key)
    for name, other in _columns_beside(net, row):
        yield f"{place}: {name} {other!r}", setting(service, table, key, **{name: other})
    fields: dict[str, Any] = row.get("fields") or {}
    for field, held in fields.items():
        for how, other in values_beside(held):
            yield f"{place}: {field} {how}", setting(service, table, key, fields={**fields, field: other})
    if fields:
        yield f"{place}: one field more", setting(service, table, key, fields={**fields, "more": 1})


def _columns_beside(net: NetChange, row: Row) -> Iterator[tuple[str, Any]]:
    """Yield wrong values of columns: near ones of those that were changed, and fixed ones of well known tables."""
    for name in sorted(net.columns - BOOKKEEPING - {"fields"}):
        if name in _NAMES or name.endswith(_ENDINGS):
            for _, other in values_beside(row[name]):
                yield name, other
    for name, values in _FIXED.get((net.service, net.table), {}).items():
        for other in values:
            yield name, other


def _touches(service: str, table: str, key: str, row: Row) -> Bends:
    column = next(name for name in sorted(row) if name not in (*BOOKKEEPING, "id", "key"))
    new = {**row, "key": "something-new", "id": "something-new"}
    place = f"{service}.{table}"
    yield f"{place}: a row more", lambda ending: ending.add(service, table, "something-new", new)
    yield f"{place}: a row changed", setting(service, table, key, **{column: "something else"})
    yield f"{place}: a row less", lambda ending: ending.delete(service, table, key)
