"""Variants of an end in which times and amounts lie exactly on a limit, just before it or just behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from companyos_gateway.proof.states.bends import DESK, FLOW, HUB, Bend, Row, Way
from companyos_gateway.proof.states.ending import Ending

_SECOND = timedelta(seconds=1)
_BESIDE = (-_SECOND, timedelta(0), _SECOND)


def limits(way: Way) -> Iterator[Bend]:
    """Yield ends at the limits of due days, of ages and of what delegations carry."""
    yield from due(way)
    yield from _aged(way)
    yield from valued(way)
    yield from _stood_in(way)


def due(way: Way) -> Iterator[Bend]:
    """Yield the entry ticket ended, and the outcome declared, when the office closes on the day it is due."""
    closes = _closing(way)
    for beside in _BESIDE:
        yield _ended_at(way.key, closes + beside)
        yield _declared_at(closes + beside)
    yield _declared_at(None)


def due_and_fresh(way: Way) -> Iterator[Bend]:
    """Yield the outcome declared when the office closes on that day, with every metric measured just then."""
    closes = _closing(way)
    metrics = sorted(_used(way) & way.evidence.table(HUB, "metrics").keys())
    for beside in _BESIDE:
        yield _measured_and_declared_at(metrics, closes + beside)


def _closing(way: Way) -> datetime:
    day = datetime.fromisoformat(way.ticket["due_at"]).date()
    return datetime.combine(day, way.company.office_closes, tzinfo=UTC)


def _measured_and_declared_at(metrics: Sequence[str], moment: datetime) -> Bend:
    def bend(ending: Ending) -> None:
        for metric_id in metrics:
            _metric_of(metric_id, moment)(ending)
        ending.declared_at = _text(moment)

    return bend


def _aged(way: Way) -> Iterator[Bend]:
    """Yield each metric that the task has used as old as policies allow when its ticket or its requests changed."""
    metrics = way.evidence.table(HUB, "metrics")
    requests = [change for key, _ in way.approved() for change in way.evidence.row_changes(FLOW, "requests", key)[:1]]
    ends = list(way.evidence.row_changes(DESK, "tickets", way.key)[-1:])
    records = [
        change for net in way.changed(HUB, "records") for change in way.evidence.row_changes(HUB, net.table, net.key)
    ]
    moments = {change.at for change in (*requests, *ends, *records)}
    if way.kept.stored["declared_at"] is not None:
        moments.add(datetime.fromisoformat(way.kept.stored["declared_at"]))
    for metric_id in sorted(_used(way) & metrics.keys()):
        for moment in sorted(moments):
            for age in _ages(way):
                for beside in _BESIDE[:2]:
                    yield _metric_of(metric_id, moment - age + beside)


def valued(way: Way) -> Iterator[Bend]:
    """Yield each metric that the task has used at every number that a policy names."""
    policies = way.evidence.table(HUB, "policies").values()
    numbers = {value for row in policies for value in row["parameters"].values() if type(value) in (int, float)}
    for metric_id in sorted(_used(way) & way.evidence.table(HUB, "metrics").keys()):
        for number in sorted(numbers):
            yield _metric_with(metric_id, float(number))


def _metric_with(metric_id: str, value: float) -> Bend:
    def bend(ending: Ending) -> None:
        ending.rewrite(HUB, "metrics", metric_id, value=value)
        ending.replant(HUB, "metrics", metric_id, value=value)

    return bend


def _ages(way: Way) -> list[timedelta]:
    """Return how old sources and types of requests let a figure be: what is as old as that is at the limit."""
    sources = way.evidence.table(HUB, "sources").values()
    types = way.evidence.table(FLOW, "approval_types").values()
    minutes = {row["freshness_sla_minutes"] for row in sources}
    minutes |= {one["max_age_minutes"] for row in types for one in row["fields"]} - {None}
    return [timedelta(minutes=one) for one in sorted(minutes)]


def _used(way: Way) -> set[str]:
    """Return the metrics that were refreshed or asked for."""
    calls = [line["arguments"] for line in way.kept.stored["audits"].get(HUB, [])]
    asked = {str(one["metric_id"]) for one in calls if "metric_id" in one}
    keys = {(one.get("key"), one.get("subject")) for one in calls if "subject" in one}
    rows = way.evidence.table(HUB, "metrics")
    return asked | {key for key, row in rows.items() if (row.get("key"), row.get("subject")) in keys}


def _stood_in(way: Way) -> Iterator[Bend]:
    """Yield each approved request decided by somebody who only stands in, by a delegation at its limits."""
    day = way.kept.instance.started_at.date()
    for key, row in way.approved():
        other = _stand_in(way, row)
        made = way.evidence.row_changes(FLOW, "requests", key)[0].at
        amounts = [value for value in row["fields"].values() if type(value) is int]
        drawn = list(_delegations(row, made, amounts))
        yield from (_decided_by(key, row, other, columns) for columns in drawn)
        named = {value for value in row["fields"].values() if way.company.is_active(str(value), day)}
        barred = (row["requester_id"], *sorted(map(str, named)))
        yield from (_decided_by(key, row, person_id, drawn[0]) for person_id in barred)


def carried_for_nothing(way: Way) -> Iterator[Bend]:
    """Yield each approved request decided by somebody who stands in for nothing that costs, by whoever lets them."""
    held = way.evidence.table(FLOW, "delegations").values()
    for key, row in way.approved():
        made = way.evidence.row_changes(FLOW, "requests", key)[0].at
        drawn = {**next(_delegations(row, made, [])), "limit_cents": 0}
        givers = [row["approver_id"], *sorted({one["from_id"] for one in held if one["to_id"] == row["approver_id"]})]
        for giver_id in givers:
            yield _decided_by(key, row, _stand_in(way, row), {**drawn, "from_id": giver_id})


def _stand_in(way: Way, row: Row) -> str:
    """Return somebody at work who has no role and nothing to do with a request."""
    day = way.kept.instance.started_at.date()
    people = [one.id for one in way.company.people if one.is_employed(day) and not one.roles]
    at_work = [one for one in people if not way.company.is_out_of_office(one, day)]
    return next(one for one in at_work if one not in (row["requester_id"], row["approver_id"]))


def _delegations(row: Row, made: datetime, amounts: list[int]) -> Iterator[Row]:
    usual: Row = {"starts_at": made - timedelta(days=1), "ends_at": made + timedelta(days=1), "revoked_at": None}
    usual |= {"type_keys": [], "limit_cents": None}
    yield usual
    yield {**usual, "type_keys": [row["type_key"]]}
    yield {**usual, "type_keys": ["another_type"]}
    for beside in _BESIDE:
        yield {**usual, "starts_at": made + beside}
        yield {**usual, "ends_at": made + beside}
        yield {**usual, "revoked_at": made + beside}
    for amount in (0, *amounts):
        for beside_cents in (-1, 0, 1):
            yield {**usual, "limit_cents": amount + beside_cents}


def _decided_by(request_id: str, row: Row, person_id: str, columns: Row) -> Bend:
    def bend(ending: Ending) -> None:
        ending.rewrite(FLOW, "requests", request_id, approver_id=person_id)
        for change in ending.changes[FLOW]:
            after = change["after"]
            if change["table"] == "decisions" and after is not None and after["request_id"] == request_id:
                after["by"] = person_id
        given = {name: _text(value) if isinstance(value, datetime) else value for name, value in columns.items()}
        own = {"id": "DLG-9999", "from_id": row["approver_id"], "to_id": person_id, **given}
        planted = {**ending.initial[FLOW].get("delegations", {}), "DLG-9999": own}
        ending.initial = {**ending.initial, FLOW: {**ending.initial[FLOW], "delegations": planted}}

    return bend


def _ended_at(key: str, moment: datetime) -> Bend:
    def bend(ending: Ending) -> None:
        own = [one for one in ending.changes.get(DESK, []) if (one["table"], one["key"]) == ("tickets", key)]
        for change in [one for one in own if one["cause"] is not None][-1:]:
            change["at"] = _text(moment)

    return bend


def _declared_at(moment: datetime | None) -> Bend:
    def bend(ending: Ending) -> None:
        ending.declared_at = None if moment is None else _text(moment)

    return bend


def _metric_of(metric_id: str, moment: datetime) -> Bend:
    """Let a metric have been of a moment all along, and what requests say of it as well."""

    def bend(ending: Ending) -> None:
        said = ending.row(HUB, "metrics", metric_id)
        assert said is not None
        ending.rewrite(HUB, "metrics", metric_id, as_of=_text(moment))
        ending.replant(HUB, "metrics", metric_id, as_of=_text(moment))
        for change in ending.changes.get(FLOW, []):
            for side in ("before", "after"):
                fields: dict[str, Any] = (change[side] or {}).get("fields") or {}
                for name, value in fields.items():
                    if value == said["as_of"]:
                        fields[name] = _text(moment)

    return bend


def _text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
