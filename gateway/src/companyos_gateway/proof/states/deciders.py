"""Right ends with another decider: whoever policy allows beside the one that was asked, at once or by escalation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta

from companyos_gateway.proof.states.bends import DESK, FLOW, HUB, Bend, Bends, Row, Way
from companyos_gateway.proof.states.ending import Ending

_LONG = timedelta(days=100)
_MOST_NEW = 2
"""Delegates that are added for each request beside those that there are."""


def decider_bends(way: Way) -> Bends:
    """Yield each approved request with every other delegate of the holder behind it, there already or added."""
    for key, row in way.approved():
        asked = {
            change.after["approver_id"] for change in way.evidence.row_changes(FLOW, "requests", key) if change.after
        }
        if len(asked) > 1:
            continue  # it has gone through several hands already
        for person_id, delegation in _others(way, row):
            how = "a delegate" if delegation is None else "a new delegate"
            yield f"request {key}: decided by {how}, {person_id}", _decided_by(key, person_id, delegation)
            yield f"request {key}: escalated by {how}, {person_id}", _escalated_from(key, person_id, delegation)


def _others(way: Way, row: Row) -> Iterator[tuple[str, Row | None]]:
    """Yield who else may decide, with the delegation that has to be there before."""
    own, stands_in = row["approver_id"], None
    rows = list(way.evidence.table(FLOW, "delegations").values())
    for one in rows:
        if one["to_id"] == own and _carries(one, row):
            stands_in = one
    giver = own if stands_in is None else stands_in["from_id"]
    barred = {own, giver, row["requester_id"], *(request["approver_id"] for _, request in way.approved())}
    known = {one["to_id"] for one in rows}
    named = _named(way)
    for one in rows:
        to = one["to_id"]
        if (
            one["from_id"] == giver
            and _carries(one, row)
            and to not in barred
            and to not in named
            and _is_at_work(way, to, row)
        ):
            yield to, None
    free = [
        one.id
        for one in way.company.people
        if not one.roles and one.id not in barred | known and one.id not in named and _is_at_work(way, one.id, row)
    ]
    if not rows:
        return
    usual = rows[0] if stands_in is None else stands_in
    for person_id in free[:_MOST_NEW]:
        yield person_id, {**usual, **_unlimited(row), "id": "DEL-9990", "from_id": giver, "to_id": person_id}


def _unlimited(row: Row) -> Row:
    """Return what a delegation says that carries the request: of its type, without a limit, in force all the time."""
    made = datetime.fromisoformat(row["submitted_at"])
    starts_at, ends_at = ((made + days).isoformat().replace("+00:00", "Z") for days in (-_LONG, _LONG))
    said = {"type_keys": [row["type_key"]], "limit_cents": None, "revoked_at": None}
    return {**said, "starts_at": starts_at, "ends_at": ends_at}


def _carries(delegation: Row, row: Row) -> bool:
    """Say whether a delegation carries the request from its submission to its decision."""
    moments = [datetime.fromisoformat(row[name]) for name in ("submitted_at", "decided_at") if row[name]]
    starts_at, ends_at = (datetime.fromisoformat(delegation[name]) for name in ("starts_at", "ends_at"))
    amounts = [value for name, value in row["fields"].items() if name.endswith("_cents") and isinstance(value, int)]
    in_force = delegation["revoked_at"] is None and all(starts_at <= moment < ends_at for moment in moments)
    in_scope = not delegation["type_keys"] or row["type_key"] in delegation["type_keys"]
    limit = delegation["limit_cents"]
    return in_force and in_scope and (limit is None or limit >= max(amounts, default=0))


def _is_at_work(way: Way, person_id: str, row: Row) -> bool:
    days: list[date] = [
        datetime.fromisoformat(row[name]).date() for name in ("submitted_at", "decided_at") if row[name]
    ]
    company = way.company
    return all(company.is_active(person_id, day) and not company.is_out_of_office(person_id, day) for day in days)


def _named(way: Way) -> str:
    """Return what the task is about as text: who is named in it may have to keep out of the decision."""
    tables = [(HUB, "records"), (HUB, "vendors"), (FLOW, "requests")]
    rows = [way.ticket, *(row for service, table in tables for row in way.evidence.table(service, table).values())]
    items = [row for row in way.evidence.table(DESK, "checklist_items").values() if way.is_named_in(row)]
    return repr([*rows, *items])


def _decided_by(key: str, person_id: str, delegation: Row | None) -> Bend:
    def bend(ending: Ending) -> None:
        _plant(ending, delegation)
        for change in ending.changes[FLOW]:
            after = change["after"]
            if change["table"] == "decisions" and after is not None and after["request_id"] == key:
                after["by"] = person_id
        ending.rewrite(FLOW, "requests", key, approver_id=person_id)

    return bend


def _escalated_from(key: str, person_id: str, delegation: Row | None) -> Bend:
    """Let somebody else have been asked first, and the agent have escalated to the one who has decided."""

    def bend(ending: Ending) -> None:
        _plant(ending, delegation)
        changes = ending.changes[FLOW]
        at, made = next((at, one) for at, one in enumerate(changes) if (one["table"], one["key"]) == ("requests", key))
        asked, escalated = {**made["after"], "approver_id": person_id}, {**made["after"], "status": "escalated"}
        later = [one for one in changes[at + 1 :] if (one["table"], one["key"]) == ("requests", key)]
        if later:
            later[0]["before"] = {**later[0]["before"], "status": "escalated"}
        changes[at : at + 1] = [{**made, "after": asked}, {**made, "before": asked, "after": escalated}]

    return bend


def _plant(ending: Ending, delegation: Row | None) -> None:
    if delegation is not None:
        ending.plant(FLOW, "delegations", delegation["id"], delegation)
