"""Valid mutations of the approver: every other person whom the policy allows, directly or by escalation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta

from companyos_shared.wire.control import Row
from verification.proof.final_states.final_state import FinalState
from verification.proof.final_states.mutations import (
    APPROVALFLOW,
    DATAHUB,
    TICKETDESK,
    Mutation,
    NamedMutations,
    OracleRun,
    all_of,
    decide_request,
    iso_time,
    rewrite_row,
)

_LONG = timedelta(days=100)
_MAX_NEW = 2
"""Maximum number of delegates added for each request."""


def approver_mutations(oracle_run: OracleRun) -> NamedMutations:
    """Yield each approved request decided by every other valid delegate of the role holder, existing or added."""
    for key, row in oracle_run.approved():
        approver_ids = {
            change.after["approver_id"]
            for change in oracle_run.evidence.row_changes(APPROVALFLOW, "requests", key)
            if change.after
        }
        if len(approver_ids) > 1:
            continue  # the request was escalated before
        for person_id, delegation in _other_approvers(oracle_run, row):
            how, added = ("a delegate", ()) if delegation is None else ("a new delegate", (_planted(delegation),))
            put_to = rewrite_row(APPROVALFLOW, "requests", key, approver_id=person_id)
            decided = all_of(*added, decide_request(key, person_id), put_to)
            yield f"request {key}: decided by {how}, {person_id}", decided
            yield f"request {key}: escalated by {how}, {person_id}", all_of(*added, _escalated_from(key, person_id))


def _other_approvers(oracle_run: OracleRun, row: Row) -> Iterator[tuple[str, Row | None]]:
    """Yield the other valid approvers, each with the delegation to add, or None if it exists."""
    own, stands_in = row["approver_id"], None
    rows = list(oracle_run.evidence.table(APPROVALFLOW, "delegations").values())
    for one in rows:
        if one["to_id"] == own and _carries(one, row):
            stands_in = one
    giver = own if stands_in is None else stands_in["from_id"]
    excluded = {own, giver, row["requester_id"], *(request["approver_id"] for _, request in oracle_run.approved())}
    known = {entry["to_id"] for entry in rows}
    named = _named(oracle_run)
    for one in rows:
        to = one["to_id"]
        if (
            one["from_id"] == giver
            and _carries(one, row)
            and to not in excluded
            and to not in named
            and _is_at_work(oracle_run, to, row)
        ):
            yield to, None
    free = [
        item.id
        for item in oracle_run.company.people
        if not item.roles
        and item.id not in excluded | known
        and item.id not in named
        and _is_at_work(oracle_run, item.id, row)
    ]
    if not rows:
        return
    template = rows[0] if stands_in is None else stands_in
    for person_id in free[:_MAX_NEW]:
        yield person_id, {**template, **_unlimited(row), "id": "DEL-9990", "from_id": giver, "to_id": person_id}


def _unlimited(row: Row) -> Row:
    """Return the columns of a delegation that covers the request: its type, no limit, always in force."""
    made = datetime.fromisoformat(row["submitted_at"])
    starts_at, ends_at = (iso_time(made + days) for days in (-_LONG, _LONG))
    scope = {"type_keys": [row["type_key"]], "limit_cents": None, "revoked_at": None}
    return {**scope, "starts_at": starts_at, "ends_at": ends_at}


def _carries(delegation: Row, row: Row) -> bool:
    """Return whether a delegation covers the request from its submission to its decision."""
    moments = [datetime.fromisoformat(row[name]) for name in ("submitted_at", "decided_at") if row[name]]
    starts_at, ends_at = (datetime.fromisoformat(delegation[name]) for name in ("starts_at", "ends_at"))
    amounts = [value for name, value in row["fields"].items() if name.endswith("_cents") and isinstance(value, int)]
    in_force = delegation["revoked_at"] is None and all(starts_at <= moment < ends_at for moment in moments)
    in_scope = not delegation["type_keys"] or row["type_key"] in delegation["type_keys"]
    limit = delegation["limit_cents"]
    return in_force and in_scope and (limit is None or limit >= max(amounts, default=0))


def _is_at_work(oracle_run: OracleRun, person_id: str, row: Row) -> bool:
    days: list[date] = [
        datetime.fromisoformat(row[name]).date() for name in ("submitted_at", "decided_at") if row[name]
    ]
    company = oracle_run.company
    return all(company.is_active(person_id, day) and not company.is_out_of_office(person_id, day) for day in days)


def _named(oracle_run: OracleRun) -> str:
    """Return the task's data as text; people named in it may be excluded from the decision."""
    tables = [(DATAHUB, "records"), (DATAHUB, "vendors"), (APPROVALFLOW, "requests")]
    rows = [
        oracle_run.ticket,
        *(row for service, table in tables for row in oracle_run.evidence.table(service, table).values()),
    ]
    items = [
        row for row in oracle_run.evidence.table(TICKETDESK, "checklist_items").values() if oracle_run.is_related(row)
    ]
    return repr([*rows, *items])


def _escalated_from(key: str, person_id: str) -> Mutation:
    """Return a mutation in which the agent submits the request to another person and escalates it to the approver."""

    def mutate(final_state: FinalState) -> None:
        changes = final_state.changes[APPROVALFLOW]
        made, *later = final_state.changes_of(APPROVALFLOW, "requests", key)
        requested, escalated = {**made["after"], "approver_id": person_id}, {**made["after"], "status": "escalated"}
        if later:
            later[0]["before"] = {**later[0]["before"], "status": "escalated"}
        at = changes.index(made)
        changes[at : at + 1] = [{**made, "after": requested}, {**made, "before": requested, "after": escalated}]

    return mutate


def _planted(delegation: Row) -> Mutation:
    return lambda final_state: final_state.add_initial_row(APPROVALFLOW, "delegations", delegation["id"], delegation)
