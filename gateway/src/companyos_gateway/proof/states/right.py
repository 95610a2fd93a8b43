"""Right ends of a task that differ from the oracle's: each of them must be accepted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from companyos_gateway.proof.playing import Kept
from companyos_gateway.proof.states.bends import DESK, FLOW, Bend, Bends, Row, Way
from companyos_gateway.proof.states.deciders import decider_bends
from companyos_gateway.proof.states.ending import Ending

_MISTAKES = {
    ("ticketdesk", "tickets"): "priority",
    ("datahub", "records"): "title",
    ("datahub", "vendors"): "name",
    ("approvalflow", "requests"): "justification",
}
AS_IT_WAS = "as it was"
_ROWS_EACH = 3
_CLOCK_TABLES = 4
_READS = (1, 5, 20)


def right_bends(kept: Kept) -> Bends:
    """Yield every bend that must be accepted, by its name."""
    way = Way(kept)
    yield AS_IT_WAS, lambda _ending: None
    yield "whole numbers with a point", _floats
    yield "other words at the end", _words("It has been seen to.")
    yield "no words at the end", _words("")
    yield from _remarks(way)
    yield from _mistakes(way)
    yield from _passing_rows(way)
    yield from _clock(way)
    yield from decider_bends(way)
    for count in _READS:
        yield f"{count} more reads", _more_reads(count)


def _floats(ending: Ending) -> None:
    for changes in ending.changes.values():
        for change in changes:
            for side in ("before", "after"):
                row = change[side]
                for name in row or ():
                    row[name] = _with_point(row[name], name)


def _with_point(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _with_point(one, key) for key, one in value.items()}
    is_number = isinstance(value, int) and not isinstance(value, bool) and name != "version"
    return float(value) if is_number else value


def _words(summary: str) -> Bend:
    def bend(ending: Ending) -> None:
        if ending.finish is not None:
            ending.finish = ending.finish.model_copy(update={"summary": summary})

    return bend


def _remarks(way: Way) -> Bends:
    """Yield a comment on the entry ticket, and a note on each request of its own."""
    comments = way.kept.stored["initial"][DESK].get("comments", {})
    for number, row in enumerate(list(comments.values())[:2]):
        new = {**row, "id": f"new-{number}", "ticket_key": way.key, "author_id": way.kept.instance.acting_as}
        yield f"a comment more ({number})", _adding(DESK, "comments", f"new-{number}", new)
    notes = way.kept.stored["initial"][FLOW].get("notes", {})
    for key, _ in way.approved():
        for row in list(notes.values())[:1]:
            new = {**row, "id": "new-note", "request_id": key}
            yield f"a note on {key}", _adding(FLOW, "notes", "new-note", new)


def _mistakes(way: Way) -> Bends:
    """Yield a row that is none of the task's changed and changed back."""
    for (service, table), column in _MISTAKES.items():
        for key, row in _free_rows(way, service, table, _ROWS_EACH):
            yield f"{table} {key}: a mistake undone", _undone(service, table, key, column, row[column])


def _undone(service: str, table: str, key: str, column: str, value: Any) -> Bend:
    def bend(ending: Ending) -> None:
        ending.set(service, table, key, **{column: "high" if value != "high" else "low"})
        ending.set(service, table, key, **{column: value})

    return bend


def _passing_rows(way: Way) -> Bends:
    """Yield a row that is added and deleted again."""
    for service, table in (("ticketdesk", "links"), ("ticketdesk", "comments"), ("approvalflow", "delegations")):
        for key, row in _free_rows(way, service, table, 1):
            yield f"{table}: a row that came and went", _come_and_gone(service, table, {**row, "id": f"{key}-new"})


def _come_and_gone(service: str, table: str, row: Row) -> Bend:
    def bend(ending: Ending) -> None:
        ending.add(service, table, "came-and-went", row)
        ending.delete(service, table, "came-and-went")

    return bend


def _clock(way: Way) -> Bends:
    """Yield what time brings by itself: rows that others change, without a call of the agent behind it."""
    for service, tables in way.kept.stored["initial"].items():
        for table in sorted(tables)[:_CLOCK_TABLES]:
            for key, row in _free_rows(way, service, table, 1):
                column = next(name for name in sorted(row) if name not in ("id", "key", "version"))
                yield f"{service}.{table}: changed by others", _by_clock(service, table, key, column)


def _by_clock(service: str, table: str, key: str, column: str) -> Bend:
    def bend(ending: Ending) -> None:
        count = len(ending.changes.get(service, []))
        ending.set(service, table, key, **{column: None})
        for change in ending.changes.get(service, [])[count:]:
            change |= {"actor": "clock", "cause": None}

    return bend


def _more_reads(count: int) -> Bend:
    def bend(ending: Ending) -> None:
        for lines in ending.audits.values():
            reads = [line for line in lines if line["operation"].startswith(("get", "list", "search", "query"))]
            last = max((line["step"] for line in lines), default=0)
            for number, line in enumerate((reads * count)[:count], start=1):
                lines.append({**line, "step": last + number})

    return bend


def _adding(service: str, table: str, key: str, row: Row) -> Bend:
    return lambda ending: ending.add(service, table, key, row)


def _free_rows(way: Way, service: str, table: str, count: int) -> Iterator[tuple[str, Row]]:
    """Yield rows that are none of the task's."""
    touched = {change["key"] for change in way.kept.stored["changes"].get(service, [])}
    rows = way.kept.stored["initial"].get(service, {}).get(table, {})
    free = [key for key in sorted(rows) if key not in touched and not way.is_named_in(rows[key])]
    for key in free[-count:]:
        yield key, rows[key]
