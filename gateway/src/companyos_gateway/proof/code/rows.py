"""Variants of an end in its rows: columns of what was touched, rows more or less, the work of others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from companyos_gateway.proof.states.bends import DESK, FLOW, HUB, Bend, Row, Way, setting, values_beside
from companyos_gateway.proof.states.ending import Ending
from companyos_gateway.rubrics.evidence import NetChange
from companyos_gateway.rubrics.facts import BOOKKEEPING

_BOOKS = (
    {"version": 99},
    {"updated_at": "2030-01-01T00:00:00Z"},
    {"version": 99, "updated_at": "2030-01-01T00:00:00Z"},
)
_ISSUES = ("stale", "conflicting", "wrong", "missing")
_FINAL = ("resolved", "closed", "cancelled", "withdrawn")


def rows(way: Way) -> Iterator[Bend]:
    """Yield ends in which a row is another one at the end, was planted as another one, or is there twice."""
    for net in way.nets:
        if net.after is not None:
            yield from _columns(net.service, net.table, net.key, net.after)
            yield _gone(net.service, net.table, net.key)
            yield _replaced(net.service, net.table, net.key, net.after)
            yield _touched_later(net.service, net.table, net.key)
            if net.before is not None:
                yield from _came_early(net, net.before, net.after)
            yield _twice(net.service, net.table, net.key, net.after, "agent")
            yield _twice(net.service, net.table, net.key, net.after, "clock")
    yield from _books(way)
    yield from _moved_here(way)
    yield from _foreign(way)
    yield from _links(way)
    yield from _issues(way)


def _columns(service: str, table: str, key: str, row: Row) -> Iterator[Bend]:
    for name in sorted(row.keys() - {"key", "id"}):
        others = [other for _, other in values_beside(row[name])]
        if isinstance(row[name], str) and name in ("status", "state"):
            others += _FINAL
        for other in others:
            yield setting(service, table, key, **{name: other})
            yield _planted(service, table, key, name, other)
    fields: dict[str, Any] = row.get("fields") or {}
    for name, held in fields.items():
        for _, other in values_beside(held):
            yield _undone_again(service, table, key, {"fields": fields}, {"fields": {**fields, name: other}})


def _came_early(net: NetChange, before: Row, after: Row) -> Iterator[Bend]:
    """Yield one of the columns of a row, or of its fields, written at the very start."""
    for name in sorted(net.columns - BOOKKEEPING - {"fields"}):
        yield _early(net.service, net.table, net.key, before, {name: after[name]})
    fields: dict[str, Any] = before.get("fields") or {}
    for name, value in (after.get("fields") or {}).items():
        if fields.get(name) != value:
            yield _early(net.service, net.table, net.key, before, {"fields": {**fields, name: value}})


def _early(service: str, table: str, key: str, first: Row, columns: Row) -> Bend:
    def bend(ending: Ending) -> None:
        own = [one for one in ending.changes[service] if (one["table"], one["key"]) == (table, key)]
        if "fields" not in columns:
            ending.rewrite(service, table, key, **columns)
        early = {**own[0], "step": 1, "actor": "agent", "cause": "x:1:1"}
        ending.changes[service].insert(0, {**early, "before": first, "after": {**first, **columns}})

    return bend


def _replaced(service: str, table: str, key: str, row: Row) -> Bend:
    def bend(ending: Ending) -> None:
        ending.delete(service, table, key)
        ending.add(service, table, key, row)

    return bend


def _touched_later(service: str, table: str, key: str) -> Bend:
    """Let a row be touched again long after, in nothing that counts."""

    def bend(ending: Ending) -> None:
        ending.set(service, table, key, version=99)
        ending.changes[service][-1]["at"] = "2040-01-01T00:00:00Z"

    return bend


def _moved_here(way: Way) -> Iterator[Bend]:
    """Yield rows of others that are said to belong to what is the task's own."""
    own = {
        "ticket_key": [way.key],
        "request_id": [key for key, _ in way.approved()],
        "metric_id": [net.key for net in way.changed(HUB, "metrics")],
        "subject": [net.key for net in way.nets if net.service == HUB],
        "from_key": [way.key],
    }
    touched = {net.key for net in way.nets}
    for service, tables in way.kept.stored["initial"].items():
        for table, planted in tables.items():
            for key in [one for one in sorted(planted) if one not in touched][:1]:
                for column in own.keys() & planted[key].keys():
                    yield from (setting(service, table, key, **{column: other}) for other in own[column][:2])


def _books(way: Way) -> Iterator[Bend]:
    """Yield a touch that leaves only what follows from others: on a row of the task's own, and on another one."""
    tickets = way.evidence.table(DESK, "tickets")
    other = next(key for key in sorted(tickets) if key not in {net.key for net in way.nets})
    for columns in _BOOKS:
        yield setting(DESK, "tickets", way.key, **columns)
        yield setting(DESK, "tickets", other, **columns)


def _foreign(way: Way) -> Iterator[Bend]:
    """Yield an end for good, and a remark, of tickets, requests and delegations that the task knows nothing about."""
    touched = {net.key for net in way.nets}
    touches: list[tuple[str, str, Row]] = [
        *((DESK, "tickets", {"status": status}) for status in _FINAL),
        *((FLOW, "requests", {"status": status}) for status in _FINAL),
        (FLOW, "delegations", {"revoked_at": "2030-01-01T00:00:00Z"}),
        (FLOW, "delegations", {"limit_cents": 1}),
        (DESK, "tickets", {"title": "x"}),
    ]
    for service, table, columns in touches:
        for key in [one for one in sorted(way.evidence.table(service, table)) if one not in touched]:
            yield setting(service, table, key, **columns)


def _links(way: Way) -> Iterator[Bend]:
    """Yield links of the entry ticket and of others: made, made and taken off, or taken off."""
    tickets = sorted(way.evidence.table(DESK, "tickets"))
    other, third = [key for key in tickets if key != way.key][:2]
    for from_key, to_key in ((way.key, other), (other, way.key), (other, third)):
        for kind in ("blocks", "duplicates", "relates_to"):
            row = {"id": "link-new", "kind": kind, "from_key": from_key, "to_key": to_key}
            yield _added(DESK, "links", "link-new", row)
            yield _link_taken_off("link-new", row, is_made=True)
            yield _link_taken_off("link-new", row, is_made=False)
    for key, link in way.evidence.table(DESK, "links").items():
        if way.key in (link["from_key"], link["to_key"]):
            yield _link_taken_off(key, link, is_made=False)
            yield _gone(DESK, "links", key)


def _issues(way: Way) -> Iterator[Bend]:
    """Yield an issue more, on what the task is about and on something else, with and without a reason."""
    own = {net.key for net in way.nets if net.service == HUB} | {
        str(value)
        for line in way.kept.stored["audits"].get(HUB, [])
        for name, value in line["arguments"].items()
        if name.endswith("_id")
    }
    code, reference = way.ticket["reason_code"], way.ticket["reason_ref"]
    for subject in (*sorted(own), "SRC-0"):
        for kind in _ISSUES:
            for reason in ((None, None), (code, reference), ("duplicate", "POL-999")):
                row = {"id": "DI-new", "subject": subject, "kind": kind, "reported_by": "E-0000"}
                yield _added(HUB, "data_issues", "DI-new", {**row, "reason_code": reason[0], "reason_ref": reason[1]})


def _planted(service: str, table: str, key: str, name: str, value: Any) -> Bend:
    """Let a row have had a value all along, planted or made."""

    def bend(ending: Ending) -> None:
        ending.rewrite(service, table, key, **{name: value})
        ending.replant(service, table, key, **{name: value})

    return bend


def _undone_again(service: str, table: str, key: str, columns: Row, others: Row) -> Bend:
    def bend(ending: Ending) -> None:
        ending.set(service, table, key, **others)
        ending.set(service, table, key, **columns)

    return bend


def _gone(service: str, table: str, key: str) -> Bend:
    return lambda ending: ending.delete(service, table, key)


def _twice(service: str, table: str, key: str, row: Row, actor: str) -> Bend:
    def bend(ending: Ending) -> None:
        named = "key" if "key" in row else "id"
        ending.add(service, table, f"{key}-again", {**row, named: f"{key}-again"})
        if actor == "clock":
            ending.changes[service][-1] |= {"actor": "clock", "cause": None}

    return bend


def _added(service: str, table: str, key: str, row: Row) -> Bend:
    return lambda ending: ending.add(service, table, key, row)


def _link_taken_off(key: str, row: Row, *, is_made: bool) -> Bend:
    """Let a link be noted as taken off, be it one that was made in the episode or not."""

    def bend(ending: Ending) -> None:
        if is_made:
            ending.add(DESK, "links", key, row)
        if is_made or ending.row(DESK, "links", key) is not None:
            ending.delete(DESK, "links", key)
        ending.add(DESK, "removed_links", key, row)

    return bend
