"""Invalid mutations of requests: status, approver, each field, duplicates and stale values."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from companyos_shared.wire.control import Row
from verification.proof.final_states.final_state import FinalState
from verification.proof.final_states.mutations import (
    APPROVALFLOW,
    DATAHUB,
    NamedMutations,
    OracleRun,
    add_row,
    decide_request,
    iso_time,
    near_values,
    revert_columns,
    rewrite_row,
    set_columns,
)

STATUSES = ("pending", "rejected", "info_requested", "escalated", "withdrawn", "cancelled", "expired", "draft")
_WITHDRAWN_STATUSES = ("withdrawn", "cancelled")
"""Statuses that are invalid for an escalated request; any decision of its approver is accepted."""

LONG_AGO = timedelta(days=400)
_MAX_LEFT = 3
"""Maximum number of unrelated requests, and of unrelated delegations, that are changed."""


def request_mutations(oracle_run: OracleRun) -> NamedMutations:
    """Yield each approved request of the task with one change."""
    for key, row in oracle_run.approved():
        for name, columns in _columns(oracle_run, row).items():
            yield f"request {key}: {name}", rewrite_row(APPROVALFLOW, "requests", key, **columns)
        for name, value in row["fields"].items():
            for how, other in near_values(value):
                yield (
                    f"request {key}: {name} {how}",
                    rewrite_row(APPROVALFLOW, "requests", key, fields={**row["fields"], name: other}),
                )
            without = {one: held for one, held in row["fields"].items() if one != name}
            yield f"request {key}: without {name}", rewrite_row(APPROVALFLOW, "requests", key, fields=without)
        yield f"request {key}: never made", revert_columns(APPROVALFLOW, "requests", key)
        second = {**row, "id": "APR-9990", "status": "pending"}
        yield f"request {key}: a second one", add_row(APPROVALFLOW, "requests", "APR-9990", second)
        yield f"request {key}: decided by somebody else", decide_request(key, "E-0000")
        yield f"request {key}: no decision", _undecided(key)
        yield from _stale(oracle_run, key, row)


def existing_request_mutations(oracle_run: OracleRun) -> NamedMutations:
    """Yield each existing request that the agent closed or escalated, with another result or unchanged."""
    for net in oracle_run.changed(APPROVALFLOW, "requests"):
        if net.after is None:
            continue
        place, row = f"request {net.key}", net.after
        yield f"{place}: left as it was", revert_columns(APPROVALFLOW, "requests", net.key, *sorted(net.columns))
        for status in _WITHDRAWN_STATUSES if "approver_id" in net.columns else STATUSES:
            if status != row["status"]:
                yield f"{place}: {status} instead", set_columns(APPROVALFLOW, "requests", net.key, status=status)
        for name in ("reason_code", "reason_ref", "approver_id"):
            if name in net.columns:
                for how, other in near_values(row[name]):
                    yield f"{place}: {name} {how}", set_columns(APPROVALFLOW, "requests", net.key, **{name: other})
        if "approver_id" in net.columns:
            for who, person_id in oracle_run.ineligible_people().items():
                yield (
                    f"{place}: escalated to {who}",
                    set_columns(APPROVALFLOW, "requests", net.key, approver_id=person_id),
                )
    yield from _unrelated_requests(oracle_run)


def delegation_mutations(oracle_run: OracleRun) -> NamedMutations:
    """Yield each revoked delegation as still in force, and unrelated ones as revoked."""
    touched = {net.key for net in oracle_run.net_changes if (net.service, net.table) == (APPROVALFLOW, "delegations")}
    for net in oracle_run.changed(APPROVALFLOW, "delegations"):
        if "revoked_at" in net.columns:
            yield (
                f"delegation {net.key}: still in force",
                revert_columns(APPROVALFLOW, "delegations", net.key, "revoked_at"),
            )
    held = oracle_run.evidence.table(APPROVALFLOW, "delegations")
    left = [key for key, row in sorted(held.items()) if key not in touched and row["revoked_at"] is None]
    for key in left[:_MAX_LEFT]:
        yield (
            f"delegation {key}: revoked as well",
            set_columns(APPROVALFLOW, "delegations", key, revoked_at=oracle_run.last_moment()),
        )


def _unrelated_requests(oracle_run: OracleRun) -> NamedMutations:
    """Yield unrelated requests closed or escalated as well."""
    touched = {net.key for net in oracle_run.net_changes}
    rows = oracle_run.evidence.table(APPROVALFLOW, "requests")
    left = [key for key in sorted(rows) if key not in touched and rows[key]["status"] in ("pending", "approved")]
    for key in left[:_MAX_LEFT]:
        for status in ("cancelled", "escalated", "withdrawn"):
            yield f"request {key}: {status} as well", set_columns(APPROVALFLOW, "requests", key, status=status)


def _columns(oracle_run: OracleRun, row: Row) -> dict[str, dict[str, Any]]:
    columns: dict[str, dict[str, Any]] = {status: {"status": status} for status in STATUSES}
    columns |= {f"put to {who}": {"approver_id": one} for who, one in oracle_run.ineligible_people().items()}
    columns |= {
        "put to the agent itself": {"approver_id": row["requester_id"]},
        "of another type": {"type_key": "another_type"},
        "on another subject": {"subject": "VEN-1"},
        "by another requester": {"requester_id": "E-0000"},
        "about another ticket": {"ticket_ref": "OPS-1"},
    }
    return columns | _out_of_limit(oracle_run, row)


def _out_of_limit(oracle_run: OracleRun, row: Row) -> dict[str, dict[str, Any]]:
    """Return deputies whose delegation does not cover the request: limit too low, other types, or revoked."""
    amounts = [value for name, value in row["fields"].items() if "amount" in name and isinstance(value, int)]
    right = {row["approver_id"]}
    found = {}
    for delegation in oracle_run.evidence.table(APPROVALFLOW, "delegations").values():
        types, limit, to = delegation["type_keys"], delegation["limit_cents"], delegation["to_id"]
        is_small = limit is not None and amounts and limit < max(amounts)
        is_other = types and row["type_key"] not in types
        if to not in right and (is_small or is_other or delegation["revoked_at"] is not None):
            found[f"put to {to}, out of limit or scope"] = {"approver_id": to}
    sound = {
        delegation["to_id"]
        for delegation in oracle_run.evidence.table(APPROVALFLOW, "delegations").values()
        if delegation["revoked_at"] is None
        and (not delegation["type_keys"] or row["type_key"] in delegation["type_keys"])
        and (delegation["limit_cents"] is None or not amounts or delegation["limit_cents"] >= max(amounts))
    }
    holders = {item.id for item in oracle_run.company.people if item.roles}
    return {name: columns for name, columns in found.items() if columns["approver_id"] not in sound | holders}


def _undecided(request_id: str) -> Any:
    def mutate(final_state: FinalState) -> None:
        final_state.changes[APPROVALFLOW] = [
            change
            for change in final_state.changes[APPROVALFLOW]
            if change["table"] != "decisions" or (change["after"] or {}).get("request_id") != request_id
        ]

    return mutate


def _stale(oracle_run: OracleRun, key: str, row: Row) -> NamedMutations:
    """Yield the request with an outdated measurement time, alone and with the metric measured at that time."""
    for name, value in row["fields"].items():
        if not isinstance(value, str) or "T" not in value:
            continue
        try:
            old = iso_time(datetime.fromisoformat(value) - LONG_AGO)
        except ValueError:
            continue
        fields = {**row["fields"], name: old}
        yield f"request {key}: {name} long ago", rewrite_row(APPROVALFLOW, "requests", key, fields=fields)
        yield f"request {key}: {name} and its metric long ago", _with_old_metric(oracle_run, key, fields, value, old)


def _with_old_metric(oracle_run: OracleRun, key: str, fields: dict[str, Any], value: str, old: str) -> Any:
    measured_at = datetime.fromisoformat(value)

    def mutate(final_state: FinalState) -> None:
        final_state.rewrite(APPROVALFLOW, "requests", key, fields=fields)
        for metric_id, metric in oracle_run.evidence.table(DATAHUB, "metrics").items():
            if datetime.fromisoformat(metric["as_of"]) == measured_at:
                final_state.rewrite(DATAHUB, "metrics", metric_id, as_of=old)
                final_state.change_initial_row(DATAHUB, "metrics", metric_id, as_of=old)

    return mutate
