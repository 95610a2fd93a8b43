"""Invalid mutations of rows: the entry ticket's columns, its checklist, and the correct work on the wrong ticket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from companyos_gateway.evaluation.evidence import NetChange
from companyos_gateway.evaluation.row_views import BOOKKEEPING_COLUMNS
from companyos_shared.wire.control import Row
from verification.proof.final_states.mutations import (
    APPROVALFLOW,
    DATAHUB,
    TICKETDESK,
    Mutation,
    NamedMutations,
    OracleRun,
    add_row,
    all_of,
    delete_row,
    near_values,
    revert_columns,
    set_columns,
)

STATUSES = (None, "open", "in_progress", "blocked", "in_review", "resolved", "closed", "cancelled", "Resolved")
LEVELS = ("low", "medium", "high", "critical")
_PROTECTED = {(DATAHUB, "vendors"): "status", (APPROVALFLOW, "requests"): "justification"}
_PROTECTED_EACH = 3


def ticket_mutations(oracle_run: OracleRun) -> NamedMutations:
    """Yield the entry ticket with one column changed, its checklist undone, or the work moved to another ticket."""
    row, key = oracle_run.ticket, oracle_run.key
    if any(net.key == key and "status" in net.columns for net in oracle_run.changed(TICKETDESK, "tickets")):
        for status in STATUSES:
            if status != row["status"]:
                yield f"ticket: status {status}", set_columns(TICKETDESK, "tickets", key, status=status)
    for name, columns in _columns(oracle_run, row).items():
        yield f"ticket: {name}", set_columns(TICKETDESK, "tickets", key, **columns)
    yield "ticket: deleted", delete_row(TICKETDESK, "tickets", key)
    for net in oracle_run.changed(TICKETDESK, "checklist_items"):
        yield (
            f"checklist: {net.key} undone",
            revert_columns(TICKETDESK, "checklist_items", net.key, "done_at", "done_by"),
        )
    yield from _swapped(oracle_run)


def _columns(oracle_run: OracleRun, row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    changes: dict[str, dict[str, Any]] = {
        "another title": {"title": "Something else"},
        "another team": {"team_id": "legal" if row["team_id"] != "legal" else "data"},
        "another type": {"type": "incident" if row["type"] != "incident" else "task"},
        "another tag": {"tags": ["other"]},
        "due later": {"due_at": "2031-01-01T00:00:00Z"},
        "another reporter": {"reporter_id": "E-0000"},
        "an approval that is none": {"approval_ref": "APR-1"},
    }
    if row["reason_code"] is not None:
        changes |= {
            "no reason": {"reason_code": None, "reason_ref": None},
            "another code": {"reason_code": "withdrawn" if row["reason_code"] != "withdrawn" else "duplicate"},
            "another fact": {"reason_ref": "POL-999"},
            "fact in lower case": {"reason_ref": str(row["reason_ref"]).lower()},
            "fact padded": {"reason_ref": f" {row['reason_ref']}"},
        }
    if row["status"] == "cancelled":
        return changes
    if row["priority"] is not None:
        changes |= {"no priority": {"priority": None}, "priority in capitals": {"priority": row["priority"].upper()}}
        changes |= {f"priority {level}": {"priority": level} for level in LEVELS if level != row["priority"]}
    if row["verified_at"] is not None:
        changes |= {
            "not verified": {"verified_at": None, "verified_by": None},
            "verified by nobody": {"verified_by": None},
        }
    if row["approval_ref"] is not None:
        changes |= {
            "no approval": {"approval_ref": None},
            "approval padded": {"approval_ref": f" {row['approval_ref']}"},
            "approval in lower case": {"approval_ref": row["approval_ref"].lower()},
        }
    if row["assignee_id"] is not None:
        changes["nobody assigned"] = {"assignee_id": None}
    changes |= {
        f"assigned to {who}": {"assignee_id": one}
        for who, one in oracle_run.ineligible_people().items()
        if who != "somebody away"
    }
    return changes


def _swapped(oracle_run: OracleRun) -> NamedMutations:
    """Yield the final state with the entry ticket's changes moved to another ticket."""
    own = next((net for net in oracle_run.changed(TICKETDESK, "tickets") if net.key == oracle_run.key), None)
    if own is None or own.after is None or own.before is None:
        return
    done = {name: own.after[name] for name in own.columns}
    others = sorted(
        oracle_run.evidence.table(TICKETDESK, "tickets").keys() - {net.key for net in oracle_run.net_changes}
    )
    for other in others[:3]:
        moved = set_columns(TICKETDESK, "tickets", other, **done)
        undone = revert_columns(TICKETDESK, "tickets", oracle_run.key, *done)
        yield f"ticket: the work done on {other} instead", all_of(moved, undone)


_COVERED_ELSEWHERE = frozenset({(TICKETDESK, "checklist_items"), (APPROVALFLOW, "requests")})
_DERIVED_TABLES = frozenset(
    {"transitions", "removed_links", "comments", "notes", "decisions", "metric_values", "refresh_jobs"}
)
"""Tables that are derived from others, or in which the task's own entities may change freely."""

_FIXED: dict[tuple[str, str], dict[str, tuple[Any, ...]]] = {
    (TICKETDESK, "tickets"): {
        "status": STATUSES,
        "verified_at": ("2031-01-01T00:00:00Z",),
        "title": ("Something else",),
    },
    (DATAHUB, "records"): {
        "state": ("draft",),
        "title": ("x",),
        "owner_id": ("E-0000",),
        "amount_cents": (1,),
        "ends_on": (None,),
    },
}

_STATE_COLUMNS = ("state", "status", "priority")
_SUFFIXES = ("_id", "_key", "_ref", "_cents", "_on", "_iban", "limit", "kind", "role")


def record_mutations(oracle_run: OracleRun) -> NamedMutations:
    """Yield every other row that the agent changed, with one column changed, undone or deleted."""
    for net in oracle_run.net_changes:
        if net.after is None or net.added or net.key == oracle_run.key:
            continue
        if (net.service, net.table) in _COVERED_ELSEWHERE or net.table in _DERIVED_TABLES or net.table == "metrics":
            continue
        yield from _row_mutations(net, net.after)


def unrelated_row_mutations(oracle_run: OracleRun) -> NamedMutations:
    """Yield an unrelated row added, changed and deleted in each table."""
    for service, tables in oracle_run.kept.stored["initial"].items():
        touched = {change["key"] for change in oracle_run.kept.stored["changes"].get(service, [])}
        for table, rows in tables.items():
            left = sorted(key for key, row in rows.items() if key not in touched and not oracle_run.is_related(row))
            for key in left[:1]:
                yield from _touches(service, table, key, rows[key])
            column = _PROTECTED.get((service, table))
            for key in left[:_PROTECTED_EACH] if column else ():
                reverted = change_and_revert(service, table, key, str(column), rows[key][column])
                yield f"{table} {key}: {column} changed and reverted", reverted


def change_and_revert(service: str, table: str, key: str, column: str, value: Any) -> Mutation:
    """Return a mutation in which the agent changes a column and reverts it."""
    changed = {column: "high" if value != "high" else "low"}
    return all_of(set_columns(service, table, key, **changed), set_columns(service, table, key, **{column: value}))


def _row_mutations(net: NetChange, row: Row) -> NamedMutations:
    place, service, table, key = f"{net.table} {net.key}", net.service, net.table, net.key
    if net.columns - BOOKKEEPING_COLUMNS:  # filing a certificate increments the vendor's version
        yield f"{place}: undone", revert_columns(service, table, key, *sorted(net.columns))
    yield f"{place}: deleted", delete_row(service, table, key)
    for name, other in _columns_beside(net, row):
        yield f"{place}: {name} {other!r}", set_columns(service, table, key, **{name: other})
    fields: dict[str, Any] = row.get("fields") or {}
    for field, held in fields.items():
        for how, other in near_values(held):
            yield f"{place}: {field} {how}", set_columns(service, table, key, fields={**fields, field: other})
    if fields:
        yield f"{place}: one field more", set_columns(service, table, key, fields={**fields, "more": 1})


def _columns_beside(net: NetChange, row: Row) -> Iterator[tuple[str, Any]]:
    """Yield incorrect column values: similar ones for changed columns, and fixed ones for known tables."""
    for name in sorted(net.columns - BOOKKEEPING_COLUMNS - {"fields"}):
        if name in _STATE_COLUMNS or name.endswith(_SUFFIXES):
            for _, other in near_values(row[name]):
                yield name, other
    for name, values in _FIXED.get((net.service, net.table), {}).items():
        for other in values:
            yield name, other


def _touches(service: str, table: str, key: str, row: Row) -> NamedMutations:
    column = next(name for name in sorted(row) if name not in (*BOOKKEEPING_COLUMNS, "id", "key", "as_of"))
    new = {**row, "key": "something-new", "id": "something-new"}
    place = f"{service}.{table}"
    yield f"{place}: a row more", add_row(service, table, "something-new", new)
    yield f"{place}: a row changed", set_columns(service, table, key, **{column: "something else"})
    yield f"{place}: a row less", delete_row(service, table, key)
