"""Variants of rows: changed columns, added or removed rows, and changes by others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from companyos_gateway.evaluation.evidence import NetChange
from companyos_gateway.evaluation.row_views import BOOKKEEPING_COLUMNS
from companyos_shared.wire.control import Row
from verification.proof.final_states.final_state import FinalState
from verification.proof.final_states.mutations import (
    APPROVALFLOW,
    DATAHUB,
    TICKETDESK,
    Mutation,
    OracleRun,
    add_row,
    all_of,
    delete_row,
    near_values,
    set_columns,
)

_BOOKKEEPING_COLUMNS = (
    {"version": 99},
    {"updated_at": "2030-01-01T00:00:00Z"},
    {"version": 99, "updated_at": "2030-01-01T00:00:00Z"},
)
_ISSUES = ("stale", "conflicting", "wrong", "missing")
_FINAL_STATUSES = ("resolved", "closed", "cancelled", "withdrawn")


def row_variants(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants with a row changed at the end, changed from the start, or duplicated."""
    for net in oracle_run.net_changes:
        if net.after is not None:
            yield from _columns(net.service, net.table, net.key, net.after)
            yield delete_row(net.service, net.table, net.key)
            yield all_of(
                delete_row(net.service, net.table, net.key), add_row(net.service, net.table, net.key, net.after)
            )
            yield _touch_late(net.service, net.table, net.key)
            if net.before is not None:
                yield from _early_writes(net, net.before, net.after)
            yield _duplicate_row(net.service, net.table, net.key, net.after, "agent")
            yield _duplicate_row(net.service, net.table, net.key, net.after, "clock")
    yield from _bookkeeping(oracle_run)
    yield from _reassigned(oracle_run)
    yield from _foreign(oracle_run)
    yield from _links(oracle_run)
    yield from _issues(oracle_run)


def _columns(service: str, table: str, key: str, row: Row) -> Iterator[Mutation]:
    for name in sorted(row.keys() - {"key", "id"}):
        others = [other for _, other in near_values(row[name])]
        if isinstance(row[name], str) and name in ("status", "state"):
            others += _FINAL_STATUSES
        for other in others:
            yield set_columns(service, table, key, **{name: other})
            yield _changed_from_start(service, table, key, name, other)
    fields: dict[str, Any] = row.get("fields") or {}
    for name, held in fields.items():
        for _, other in near_values(held):
            changed = set_columns(service, table, key, fields={**fields, name: other})
            yield all_of(changed, set_columns(service, table, key, fields=fields))


def _early_writes(net: NetChange, before: Row, after: Row) -> Iterator[Mutation]:
    """Yield variants in which a changed column or field of a row was already written at the first step."""
    for name in sorted(net.columns - BOOKKEEPING_COLUMNS - {"fields"}):
        yield _write_early(net.service, net.table, net.key, before, {name: after[name]})
    fields: dict[str, Any] = before.get("fields") or {}
    for name, value in (after.get("fields") or {}).items():
        if fields.get(name) != value:
            yield _write_early(net.service, net.table, net.key, before, {"fields": {**fields, name: value}})


def _write_early(service: str, table: str, key: str, first: Row, columns: Row) -> Mutation:
    def mutate(final_state: FinalState) -> None:
        own = final_state.changes_of(service, table, key)
        if "fields" not in columns:
            final_state.rewrite(service, table, key, **columns)
        early = {**own[0], "step": 1, "actor": "agent", "cause": "x:1:1"}
        final_state.changes[service].insert(0, {**early, "before": first, "after": {**first, **columns}})

    return mutate


def _touch_late(service: str, table: str, key: str) -> Mutation:
    """Return a mutation that changes only a row's version, long after the episode."""

    def mutate(final_state: FinalState) -> None:
        final_state.set(service, table, key, version=99)
        final_state.changes[service][-1]["at"] = "2040-01-01T00:00:00Z"

    return mutate


def _reassigned(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants in which an unrelated row references one of the task's rows."""
    own = {
        "ticket_key": [oracle_run.key],
        "request_id": [key for key, _ in oracle_run.approved()],
        "metric_id": [net.key for net in oracle_run.changed(DATAHUB, "metrics")],
        "subject": [net.key for net in oracle_run.net_changes if net.service == DATAHUB],
        "from_key": [oracle_run.key],
    }
    touched = {net.key for net in oracle_run.net_changes}
    for service, tables in oracle_run.kept.stored["initial"].items():
        for table, planted in tables.items():
            for key in [item for item in sorted(planted) if item not in touched][:1]:
                for column in sorted(own.keys() & planted[key].keys()):
                    yield from (set_columns(service, table, key, **{column: other}) for other in own[column][:2])


def _bookkeeping(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants that change only bookkeeping columns, of the entry ticket and of an unrelated ticket."""
    tickets = oracle_run.evidence.table(TICKETDESK, "tickets")
    other = next(key for key in sorted(tickets) if key not in {net.key for net in oracle_run.net_changes})
    for columns in _BOOKKEEPING_COLUMNS:
        yield set_columns(TICKETDESK, "tickets", oracle_run.key, **columns)
        yield set_columns(TICKETDESK, "tickets", other, **columns)


def _foreign(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants with changes to unrelated tickets, requests and delegations, such as a final status."""
    touched = {net.key for net in oracle_run.net_changes}
    touches: list[tuple[str, str, Row]] = [
        *((TICKETDESK, "tickets", {"status": status}) for status in _FINAL_STATUSES),
        *((APPROVALFLOW, "requests", {"status": status}) for status in _FINAL_STATUSES),
        (APPROVALFLOW, "delegations", {"revoked_at": "2030-01-01T00:00:00Z"}),
        (APPROVALFLOW, "delegations", {"limit_cents": 1}),
        (TICKETDESK, "tickets", {"title": "x"}),
    ]
    for service, table, columns in touches:
        for key in [item for item in sorted(oracle_run.evidence.table(service, table)) if item not in touched]:
            yield set_columns(service, table, key, **columns)


def _links(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants of links of the entry ticket and of others: added, added and removed, or removed."""
    tickets = sorted(oracle_run.evidence.table(TICKETDESK, "tickets"))
    other, third = [key for key in tickets if key != oracle_run.key][:2]
    for from_key, to_key in ((oracle_run.key, other), (other, oracle_run.key), (other, third)):
        for kind in ("blocks", "duplicates", "relates_to"):
            row = {"id": "link-new", "kind": kind, "from_key": from_key, "to_key": to_key}
            yield add_row(TICKETDESK, "links", "link-new", row)
            yield _remove_link("link-new", row, is_made=True)
            yield _remove_link("link-new", row, is_made=False)
    for key, link in oracle_run.evidence.table(TICKETDESK, "links").items():
        if oracle_run.key in (link["from_key"], link["to_key"]):
            yield _remove_link(key, link, is_made=False)
            yield delete_row(TICKETDESK, "links", key)


def _issues(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants with an additional data issue on related and unrelated subjects, with and without a reason."""
    own = {net.key for net in oracle_run.net_changes if net.service == DATAHUB} | {
        str(value)
        for line in oracle_run.kept.stored["audits"].get(DATAHUB, [])
        for name, value in line["arguments"].items()
        if name.endswith("_id")
    }
    code, reference = oracle_run.ticket["reason_code"], oracle_run.ticket["reason_ref"]
    for subject in (*sorted(own), "SRC-0"):
        for kind in _ISSUES:
            for reason in ((None, None), (code, reference), ("duplicate", "POL-999")):
                row = {"id": "DI-new", "subject": subject, "kind": kind, "reported_by": "E-0000"}
                yield add_row(
                    DATAHUB, "data_issues", "DI-new", {**row, "reason_code": reason[0], "reason_ref": reason[1]}
                )


def _changed_from_start(service: str, table: str, key: str, name: str, value: Any) -> Mutation:
    """Return a mutation that gives a row a value from the start, in its initial state or at its creation."""

    def mutate(final_state: FinalState) -> None:
        final_state.rewrite(service, table, key, **{name: value})
        final_state.change_initial_row(service, table, key, **{name: value})

    return mutate


def _duplicate_row(service: str, table: str, key: str, row: Row, actor: str) -> Mutation:
    def mutate(final_state: FinalState) -> None:
        named = "key" if "key" in row else "id"
        final_state.add(service, table, f"{key}-again", {**row, named: f"{key}-again"})
        if actor == "clock":
            final_state.changes[service][-1] |= {"actor": "clock", "cause": None}

    return mutate


def _remove_link(key: str, row: Row, *, is_made: bool) -> Mutation:
    """Return a mutation that records a link as removed; `is_made` adds it in the episode first."""

    def mutate(final_state: FinalState) -> None:
        if is_made:
            final_state.add(TICKETDESK, "links", key, row)
        if is_made or final_state.row(TICKETDESK, "links", key) is not None:
            final_state.delete(TICKETDESK, "links", key)
        final_state.add(TICKETDESK, "removed_links", key, row)

    return mutate
