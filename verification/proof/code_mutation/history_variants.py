"""Variants in which a row had other values for some steps: at requests, at the ticket's end, or from the start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from companyos_shared.wire.control import Row
from verification.proof.final_states.final_state import FinalState
from verification.proof.final_states.mutations import (
    APPROVALFLOW,
    DATAHUB,
    TICKETDESK,
    Mutation,
    OracleRun,
    all_of,
    near_values,
)

_FOREVER = 10**6
_FIRST_STEP = 1
_STATUSES = ("open", "in_progress", "blocked")


def history_variants(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants with temporarily different requests, records and tickets."""
    made = [oracle_run.evidence.row_changes(APPROVALFLOW, "requests", key)[0].step for key, _ in oracle_run.approved()]
    ended = [change.step for change in oracle_run.evidence.row_changes(TICKETDESK, "tickets", oracle_run.key)[-1:]]
    for key, row in oracle_run.approved():
        yield from _around_steps((APPROVALFLOW, "requests", key), row, {"status": "pending"}, [*made, *ended])
    for key, row in _records(oracle_run):
        yield from _around_steps((DATAHUB, "records", key), row, {"state": "another"}, made)
        for name in row["fields"]:
            for _, other in list(near_values(row["fields"][name]))[-1:]:
                yield from _around_steps(
                    (DATAHUB, "records", key), row, {"fields": {**row["fields"], name: other}}, made
                )
    for net in oracle_run.changed(DATAHUB, "records"):
        yield _recreate_row(DATAHUB, "records", net.key)
    yield from _from_the_start(oracle_run)


def held_between(place: tuple[str, str, str], first: int, last: int, columns: Row) -> Mutation:
    """Return a mutation that gives a row other values from step `first` to step `last`."""
    service, table, key = place

    def mutate(final_state: FinalState) -> None:
        changes = final_state.changes.setdefault(service, [])
        own = final_state.changes_of(service, table, key)
        early = [final_state.initial[service][table].get(key), *(item["after"] for item in own if item["step"] < first)]
        before, changes_within = early[-1], [item for item in own if first <= item["step"] <= last]
        now = changes_within[-1]["after"] if changes_within else before
        for entry in changes_within:
            for side in ("before", "after"):
                entry[side] = None if entry[side] is None else {**entry[side], **columns}
        if before is not None:
            _insert(changes, (table, key), first, before, {**before, **columns})
        if now is not None and last < _FOREVER:
            _insert(changes, (table, key), last + 1, {**now, **columns}, now)

    return mutate


def _insert(changes: list[Row], row: tuple[str, str], step: int, before: Row, after: Row) -> None:
    """Insert a change by the clock before all other changes of a step."""
    at = next((number for number, one in enumerate(changes) if one["step"] >= step), len(changes))
    neighbor = changes[min(at, len(changes) - 1)]
    own = {"step": step, "actor": "clock", "cause": None, "table": row[0], "key": row[1]}
    changes.insert(at, {**neighbor, **own, "before": before, "after": after})


def _around_steps(place: tuple[str, str, str], row: Row, columns: Row, steps: list[int]) -> Iterator[Mutation]:
    """Yield variants of a row with other values at a step, at it and the previous one, and at all but the previous."""
    if all(row.get(name) == value for name, value in columns.items()):
        return
    for step in sorted(set(steps)):
        yield held_between(place, step, step, columns)
        yield held_between(place, step - 1, step, columns)
        yield all_of(held_between(place, _FIRST_STEP, step - 2, columns), held_between(place, step, step, columns))


def _records(oracle_run: OracleRun) -> Iterator[tuple[str, Row]]:
    """Yield the records that the agent changed or that DataHub calls named."""
    requested_ids = {
        str(line["arguments"].get("record_id")) for line in oracle_run.kept.stored["audits"].get(DATAHUB, [])
    }
    changed = {net.key for net in oracle_run.changed(DATAHUB, "records")}
    rows = oracle_run.evidence.table(DATAHUB, "records")
    yield from ((key, rows[key]) for key in sorted(rows) if key in requested_ids | changed)


def _from_the_start(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants in which a ticket of the task, or a blocker, has another value from the first step on."""
    tickets, blocking = oracle_run.evidence.table(TICKETDESK, "tickets"), set()
    for side in (
        oracle_run.kept.stored["initial"][TICKETDESK].get("links", {}),
        oracle_run.evidence.table(TICKETDESK, "links"),
    ):
        blocking |= {row["from_key"] for row in side.values() if row["to_key"] == oracle_run.key}
    touched = {net.key for net in (*oracle_run.changed(TICKETDESK, "tickets"),)}
    for key in sorted(touched | blocking & tickets.keys()):
        others: list[tuple[str, Any]] = [("priority", "another"), ("assignee_id", "E-0000")]
        for name, value in (*others, *(("status", status) for status in _STATUSES)):
            yield held_between((TICKETDESK, "tickets", key), _FIRST_STEP, _FOREVER, {name: value})


def _recreate_row(service: str, table: str, key: str) -> Mutation:
    """Return a mutation that deletes and recreates a row at the first step."""

    def mutate(final_state: FinalState) -> None:
        changes, first = final_state.changes[service], final_state.initial[service][table][key]
        own = {"step": _FIRST_STEP, "actor": "agent", "cause": "x:1:1", "table": table, "key": key}
        changes[:0] = [
            {**changes[0], **own, "before": first, "after": None},
            {**changes[0], **own, "before": None, "after": first},
        ]

    return mutate
