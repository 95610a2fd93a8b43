"""Wrong ends of requests: their state, their approver, each of their fields, one too many, one that is stale."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from companyos_gateway.proof.states.bends import FLOW, HUB, Bends, Row, Way, rewriting, setting, undoing, values_beside
from companyos_gateway.proof.states.ending import Ending

STATUSES = ("pending", "rejected", "info_requested", "escalated", "withdrawn", "cancelled", "expired", "draft")
_TAKEN_BACK = ("withdrawn", "cancelled")
"""What must not become of a request that goes to somebody else; whatever they decide is theirs."""

LONG_AGO = timedelta(days=400)
_MOST_LEFT = 3
"""Rows that the work leaves alone and that are settled with its own, of each kind."""


def request_bends(way: Way) -> Bends:
    """Yield each approved request of the task bent in one place."""
    for key, row in way.approved():
        for name, columns in _columns(way, row).items():
            yield f"request {key}: {name}", rewriting(FLOW, "requests", key, **columns)
        for name, value in row["fields"].items():
            for how, other in values_beside(value):
                yield (
                    f"request {key}: {name} {how}",
                    rewriting(FLOW, "requests", key, fields={**row["fields"], name: other}),
                )
            without = {one: held for one, held in row["fields"].items() if one != name}
            yield f"request {key}: without {name}", rewriting(FLOW, "requests", key, fields=without)
        yield f"request {key}: never made", undoing(FLOW, "requests", key)
        yield f"request {key}: a second one", _second(row)
        yield f"request {key}: a fabricated one, withdrawn again", _fabricated(row)
        yield f"request {key}: decided by somebody else", _decided_by_another(key)
        yield f"request {key}: no decision", _undecided(key)
        yield from _stale(way, key, row)


def settled_bends(way: Way) -> Bends:
    """Yield each request that was there already, and was settled by the work, settled otherwise or not at all."""
    for net in way.changed(FLOW, "requests"):
        if net.after is None:
            continue
        place, row = f"request {net.key}", net.after
        yield f"{place}: left as it was", undoing(FLOW, "requests", net.key, *sorted(net.columns))
        for status in _TAKEN_BACK if "approver_id" in net.columns else STATUSES:
            if status != row["status"]:
                yield f"{place}: {status} instead", setting(FLOW, "requests", net.key, status=status)
        for name in ("reason_code", "reason_ref", "approver_id"):
            if name in net.columns:
                for how, other in values_beside(row[name]):
                    yield f"{place}: {name} {how}", setting(FLOW, "requests", net.key, **{name: other})
        if "approver_id" in net.columns:
            for who, person_id in way.outsiders().items():
                yield f"{place}: escalated to {who}", setting(FLOW, "requests", net.key, approver_id=person_id)
    yield from _settled_too(way)


def delegation_bends(way: Way) -> Bends:
    """Yield each delegation that the work has revoked still in force, and others revoked with it."""
    touched = {net.key for net in way.nets if (net.service, net.table) == (FLOW, "delegations")}
    for net in way.changed(FLOW, "delegations"):
        if "revoked_at" in net.columns:
            yield f"delegation {net.key}: still in force", undoing(FLOW, "delegations", net.key, "revoked_at")
    held = way.evidence.table(FLOW, "delegations")
    left = [key for key, row in sorted(held.items()) if key not in touched and row["revoked_at"] is None]
    for key in left[:_MOST_LEFT]:
        yield f"delegation {key}: revoked as well", setting(FLOW, "delegations", key, revoked_at=way.last_moment())


def _settled_too(way: Way) -> Bends:
    """Yield other requests settled as well, which nothing speaks against."""
    touched = {net.key for net in way.nets}
    rows = way.evidence.table(FLOW, "requests")
    left = [key for key in sorted(rows) if key not in touched and rows[key]["status"] in ("pending", "approved")]
    for key in left[:_MOST_LEFT]:
        for status in ("cancelled", "escalated", "withdrawn"):
            yield f"request {key}: {status} as well", setting(FLOW, "requests", key, status=status)


def _columns(way: Way, row: Row) -> dict[str, dict[str, Any]]:
    columns: dict[str, dict[str, Any]] = {status: {"status": status} for status in STATUSES}
    columns |= {f"put to {who}": {"approver_id": one} for who, one in way.outsiders().items()}
    columns |= {
        "put to the agent itself": {"approver_id": row["requester_id"]},
        "of another type": {"type_key": "another_type"},
        "on another subject": {"subject": "VEN-1"},
        "by another requester": {"requester_id": "E-0000"},
        "about another ticket": {"ticket_ref": "OPS-1"},
    }
    return columns | _out_of_limit(way, row)


def _out_of_limit(way: Way, row: Row) -> dict[str, dict[str, Any]]:
    """Return stand-ins whose delegation does not carry the request: too small, of other types, revoked."""
    amounts = [value for name, value in row["fields"].items() if "amount" in name and isinstance(value, int)]
    right = {row["approver_id"]}
    found = {}
    for delegation in way.evidence.table(FLOW, "delegations").values():
        types, limit, to = delegation["type_keys"], delegation["limit_cents"], delegation["to_id"]
        is_small = limit is not None and amounts and limit < max(amounts)
        is_other = types and row["type_key"] not in types
        if to not in right and (is_small or is_other or delegation["revoked_at"] is not None):
            found[f"put to {to}, out of limit or scope"] = {"approver_id": to}
    sound = {
        delegation["to_id"]
        for delegation in way.evidence.table(FLOW, "delegations").values()
        if delegation["revoked_at"] is None
        and (not delegation["type_keys"] or row["type_key"] in delegation["type_keys"])
        and (delegation["limit_cents"] is None or not amounts or delegation["limit_cents"] >= max(amounts))
    }
    holders = {one.id for one in way.company.people if one.roles}
    return {name: columns for name, columns in found.items() if columns["approver_id"] not in sound | holders}


def _second(row: Row) -> Any:
    return lambda ending: ending.add(FLOW, "requests", "APR-9990", {**row, "id": "APR-9990", "status": "pending"})


def _fabricated(row: Row) -> Any:
    fields = {
        name: value + 1 if isinstance(value, int | float) else f"{value}1" for name, value in row["fields"].items()
    }

    def bend(ending: Ending) -> None:
        ending.add(FLOW, "requests", "APR-9991", {**row, "id": "APR-9991", "status": "pending", "fields": fields})
        ending.set(FLOW, "requests", "APR-9991", status="withdrawn")

    return bend


def _decided_by_another(request_id: str) -> Any:
    def bend(ending: Ending) -> None:
        for change in ending.changes[FLOW]:
            after = change["after"]
            if change["table"] == "decisions" and after is not None and after["request_id"] == request_id:
                after["by"] = "E-0000"

    return bend


def _undecided(request_id: str) -> Any:
    def bend(ending: Ending) -> None:
        ending.changes[FLOW] = [
            change
            for change in ending.changes[FLOW]
            if change["table"] != "decisions" or (change["after"] or {}).get("request_id") != request_id
        ]

    return bend


def _stale(way: Way, key: str, row: Row) -> Bends:
    """Yield the request with evidence that was old when it was given, alone and with a metric that is as old."""
    for name, value in row["fields"].items():
        if not isinstance(value, str) or "T" not in value:
            continue
        try:
            old = (datetime.fromisoformat(value) - LONG_AGO).isoformat().replace("+00:00", "Z")
        except ValueError:
            continue
        fields = {**row["fields"], name: old}
        yield f"request {key}: {name} long ago", rewriting(FLOW, "requests", key, fields=fields)
        yield f"request {key}: {name} and its metric long ago", _aged(way, key, fields, value, old)


def _aged(way: Way, key: str, fields: dict[str, Any], value: str, old: str) -> Any:
    then = datetime.fromisoformat(value)

    def bend(ending: Ending) -> None:
        ending.rewrite(FLOW, "requests", key, fields=fields)
        for metric_id, metric in way.evidence.table(HUB, "metrics").items():
            if datetime.fromisoformat(metric["as_of"]) == then:
                ending.rewrite(HUB, "metrics", metric_id, as_of=old)
                ending.replant(HUB, "metrics", metric_id, as_of=old)

    return bend
