"""Ends in which a row was another one for some steps: where requests were made or the ticket ended, or at the start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from companyos_gateway.proof.states.bends import DESK, FLOW, HUB, Bend, Row, Way, values_beside
from companyos_gateway.proof.states.ending import Ending

_FOREVER = 10**6
_FIRST_STEP = 1
_STATUSES = ("open", "in_progress", "blocked")


def held_otherwise(way: Way) -> Iterator[Bend]:
    """Yield ends in which requests, records and tickets were others for a while."""
    made = [way.evidence.row_changes(FLOW, "requests", key)[0].step for key, _ in way.approved()]
    ended = [change.step for change in way.evidence.row_changes(DESK, "tickets", way.key)[-1:]]
    for key, row in way.approved():
        yield from _around((FLOW, "requests", key), row, {"status": "pending"}, [*made, *ended])
    for key, row in _records(way):
        yield from _around((HUB, "records", key), row, {"state": "another"}, made)
        for name in row["fields"]:
            for _, other in list(values_beside(row["fields"][name]))[-1:]:
                yield from _around((HUB, "records", key), row, {"fields": {**row["fields"], name: other}}, made)
    for net in way.changed(HUB, "records"):
        yield _made_anew(HUB, "records", net.key)
    yield from _from_the_start(way)


def held(place: tuple[str, str, str], first: int, last: int, columns: Row) -> Bend:
    """Return the bend by which a row held other values from one step to another, and then what it had without them."""
    service, table, key = place

    def bend(ending: Ending) -> None:
        changes = ending.changes.setdefault(service, [])
        own = [one for one in changes if (one["table"], one["key"]) == (table, key)]
        early = [ending.initial[service][table].get(key), *(one["after"] for one in own if one["step"] < first)]
        before, within = early[-1], [one for one in own if first <= one["step"] <= last]
        now = within[-1]["after"] if within else before
        for one in within:
            for side in ("before", "after"):
                one[side] = None if one[side] is None else {**one[side], **columns}
        if before is not None:
            _insert(changes, (table, key), first, before, {**before, **columns})
        if now is not None and last < _FOREVER:
            _insert(changes, (table, key), last + 1, {**now, **columns}, now)

    return bend


def _insert(changes: list[Row], row: tuple[str, str], step: int, before: Row, after: Row) -> None:
    """Let the clock have changed a row ahead of everything else at a step."""
    at = next((number for number, one in enumerate(changes) if one["step"] >= step), len(changes))
    beside = changes[min(at, len(changes) - 1)]
    own = {"step": step, "actor": "clock", "cause": None, "table": row[0], "key": row[1]}
    changes.insert(at, {**beside, **own, "before": before, "after": after})


def _around(place: tuple[str, str, str], row: Row, columns: Row, steps: list[int]) -> Iterator[Bend]:
    """Yield a row held otherwise at each of the steps, at the one before as well, and at all but the one before."""
    if all(row.get(name) == value for name, value in columns.items()):
        return
    for step in sorted(set(steps)):
        yield held(place, step, step, columns)
        yield held(place, step - 1, step, columns)
        yield _both(held(place, _FIRST_STEP, step - 2, columns), held(place, step, step, columns))


def _records(way: Way) -> Iterator[tuple[str, Row]]:
    """Yield the records that were changed or asked for."""
    asked = {str(line["arguments"].get("record_id")) for line in way.kept.stored["audits"].get(HUB, [])}
    changed = {net.key for net in way.changed(HUB, "records")}
    rows = way.evidence.table(HUB, "records")
    yield from ((key, rows[key]) for key in sorted(rows) if key in asked | changed)


def _from_the_start(way: Way) -> Iterator[Bend]:
    """Yield tickets of the task, and what blocks its own, with another value from the first step on."""
    tickets, blocking = way.evidence.table(DESK, "tickets"), set()
    for side in (way.kept.stored["initial"][DESK].get("links", {}), way.evidence.table(DESK, "links")):
        blocking |= {row["from_key"] for row in side.values() if row["to_key"] == way.key}
    touched = {net.key for net in (*way.changed(DESK, "tickets"),)}
    for key in sorted(touched | blocking & tickets.keys()):
        others: list[tuple[str, Any]] = [("priority", "another"), ("assignee_id", "E-0000")]
        for name, value in (*others, *(("status", status) for status in _STATUSES)):
            yield held((DESK, "tickets", key), _FIRST_STEP, _FOREVER, {name: value})


def _made_anew(service: str, table: str, key: str) -> Bend:
    """Let a row have been deleted and made again at the very start."""

    def bend(ending: Ending) -> None:
        changes, first = ending.changes[service], ending.initial[service][table][key]
        own = {"step": _FIRST_STEP, "actor": "agent", "cause": "x:1:1", "table": table, "key": key}
        changes[:0] = [
            {**changes[0], **own, "before": first, "after": None},
            {**changes[0], **own, "before": None, "after": first},
        ]

    return bend


def _both(one: Bend, other: Bend) -> Bend:
    def bend(ending: Ending) -> None:
        one(ending)
        other(ending)

    return bend
