"""Variants of a final state with times and amounts exactly at a limit, just before it or just after it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

from companyos_shared.wire.control import Change, Row
from verification.proof.final_states.final_state import FinalState
from verification.proof.final_states.mutations import (
    APPROVALFLOW,
    DATAHUB,
    TICKETDESK,
    Mutation,
    OracleRun,
    all_of,
    decide_request,
    iso_time,
    rewrite_row,
)

_SECOND = timedelta(seconds=1)
_OFFSETS = (-_SECOND, timedelta(0), _SECOND)


def boundary_variants(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants at the limits of due dates, ages and delegations."""
    yield from due_date_variants(oracle_run)
    yield from _metric_age_variants(oracle_run)
    yield from metric_value_variants(oracle_run)
    yield from _delegation_variants(oracle_run)


def due_date_variants(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants in which the entry ticket is ended, or the outcome declared, at closing time on the due date."""
    closes = _office_closes_at(oracle_run)
    for offset in _OFFSETS:
        yield _ended_at(oracle_run.key, closes + offset)
        yield _declared_at(closes + offset)
    yield _declared_at(None)


def due_date_with_fresh_metrics(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants with the declaration at closing time on the due date and all metrics measured at that moment."""
    closes = _office_closes_at(oracle_run)
    metrics = sorted(_used_metrics(oracle_run) & oracle_run.evidence.table(DATAHUB, "metrics").keys())
    for offset in _OFFSETS:
        moment = closes + offset
        yield all_of(*(_metric_of(metric_id, moment) for metric_id in metrics), _declared_at(moment))


def _office_closes_at(oracle_run: OracleRun) -> datetime:
    day = datetime.fromisoformat(oracle_run.ticket["due_at"]).date()
    return datetime.combine(day, oracle_run.company.office_closes, tzinfo=UTC)


def _metric_age_variants(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants in which a used metric has a maximum age at a request, change, ticket end or declaration."""
    metrics = oracle_run.evidence.table(DATAHUB, "metrics")
    requests = [
        change
        for key, _ in oracle_run.approved()
        for change in oracle_run.evidence.row_changes(APPROVALFLOW, "requests", key)[:1]
    ]
    ends = list(oracle_run.evidence.row_changes(TICKETDESK, "tickets", oracle_run.key)[-1:])
    records = [
        change
        for net in oracle_run.changed(DATAHUB, "records")
        for change in oracle_run.evidence.row_changes(DATAHUB, net.table, net.key)
    ]
    moments = {change.at for change in (*requests, *ends, *records)}
    if oracle_run.kept.stored["declared_at"] is not None:
        moments.add(datetime.fromisoformat(oracle_run.kept.stored["declared_at"]))
    for metric_id in sorted(_used_metrics(oracle_run) & metrics.keys()):
        for moment in sorted(moments):
            for age in _ages(oracle_run):
                for offset in _OFFSETS[:2]:
                    yield _metric_of(metric_id, moment - age + offset)


def evidence_age_variants(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants in which a used metric has the maximum age of a request field when the request is created."""
    types = oracle_run.evidence.table(APPROVALFLOW, "approval_types")
    metric_ids = sorted(_used_metrics(oracle_run) & oracle_run.evidence.table(DATAHUB, "metrics").keys())
    for key, row in oracle_run.approved():
        made = oracle_run.evidence.row_changes(APPROVALFLOW, "requests", key)[0].at
        limits = {spec["name"]: spec["max_age_minutes"] for spec in types[row["type_key"]]["fields"]}
        for metric_id, (name, limit) in product(metric_ids, limits.items()):
            if limit is not None:
                yield _evidence_dated(key, name, metric_id, made - timedelta(minutes=limit))


def _evidence_dated(request_id: str, name: str, metric_id: str, moment: datetime) -> Mutation:
    def mutate(final_state: FinalState) -> None:
        _metric_of(metric_id, moment)(final_state)
        for change in final_state.changes_of(APPROVALFLOW, "requests", request_id):
            for row in filter(None, (change["before"], change["after"])):
                row["fields"] = {**row["fields"], name: iso_time(moment)}

    return mutate


def age_limit_variants(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants with a used metric near its source's maximum age when the agent changes a ticket or data issue."""
    metrics = oracle_run.evidence.table(DATAHUB, "metrics")
    sources = oracle_run.evidence.table(DATAHUB, "sources")
    for metric_id in sorted(_used_metrics(oracle_run) & metrics.keys()):
        limit = timedelta(minutes=sources[metrics[metric_id]["source_id"]]["freshness_sla_minutes"])
        for moment in sorted({change.at for change in decisive_changes(oracle_run)}):
            yield from (_metric_of(metric_id, moment - limit + offset) for offset in _OFFSETS)


def decisive_changes(oracle_run: OracleRun) -> list[Change]:
    """Return the agent's changes of tickets and data issues."""
    changes = (*oracle_run.evidence.changes(TICKETDESK), *oracle_run.evidence.changes(DATAHUB))
    return [change for change in changes if change.cause is not None and change.table in ("tickets", "data_issues")]


def metric_value_variants(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants that set a used metric to each number in a policy and the amount of each record that was read."""
    policies = oracle_run.evidence.table(DATAHUB, "policies").values()
    numbers = {value for row in policies for value in row["parameters"].values() if type(value) in (int, float)}
    called = [line["arguments"] for line in oracle_run.kept.stored["audits"].get(DATAHUB, [])]
    records = oracle_run.evidence.table(DATAHUB, "records")
    read = [records[call["record_id"]] for call in called if call.get("record_id") in records]
    numbers |= {row["amount_cents"] / 100 for row in read if row["amount_cents"] is not None}
    for metric_id in sorted(_used_metrics(oracle_run) & oracle_run.evidence.table(DATAHUB, "metrics").keys()):
        for number in sorted(numbers):
            yield _metric_with(metric_id, float(number))


def _metric_with(metric_id: str, value: float) -> Mutation:
    def mutate(final_state: FinalState) -> None:
        final_state.rewrite(DATAHUB, "metrics", metric_id, value=value)
        final_state.change_initial_row(DATAHUB, "metrics", metric_id, value=value)
        _show(final_state, metric_id)

    return mutate


def issue_variants(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield variants with a metric near its age limit in one of its states, and an issue reported at one step."""
    for net in oracle_run.changed(DATAHUB, "metrics"):
        if net.before is None:
            continue
        source = oracle_run.evidence.table(DATAHUB, "sources")[net.before["source_id"]]
        limit = timedelta(minutes=source["freshness_sla_minutes"])
        for stale_since in (0, 2, 3):
            for reported in (1, 2, 3, 4):
                for offset in _OFFSETS:
                    yield _stale_for_a_step(net.before, limit + offset, stale_since, reported)


def _stale_for_a_step(metric: Row, age: timedelta, stale_since: int, reported: int) -> Mutation:
    """Change a metric at steps 2 and 3, and give it an age at the end of one of its states."""

    def mutate(final_state: FinalState) -> None:
        began = final_state.instance.started_at
        moments = {step: began + timedelta(minutes=step) for step in (1, 2, 3, 4)}
        ends = {0: moments[2], 2: moments[3], 3: max(moments[4], moments[reported])}
        states = {
            since: {**metric, "as_of": iso_time(end - age if since == stale_since else began)}
            for since, end in ends.items()
        }
        final_state.change_initial_row(DATAHUB, "metrics", metric["id"], as_of=states[0]["as_of"])
        changes = final_state.changes[DATAHUB]
        changes[:] = [row for row in changes if (row["table"], row["key"]) != ("metrics", metric["id"])]
        own = {"actor": "clock", "cause": None, "table": "metrics", "key": metric["id"]}
        added = [
            {"step": step, "at": iso_time(moments[step]), **own, "before": states[before], "after": states[step]}
            for before, step in ((0, 2), (2, 3))
        ]
        issue = {"id": "DI-9991", "subject": metric["id"], "kind": "stale", "reason_code": None, "reason_ref": None}
        report = {"actor": "agent", "cause": "x:1:0", "table": "data_issues", "key": issue["id"], "before": None}
        added.append({"step": reported, "at": iso_time(moments[reported]), **report, "after": issue})
        changes[:0] = sorted(added, key=lambda row: row["step"])

    return mutate


def _ages(oracle_run: OracleRun) -> list[timedelta]:
    """Return the maximum ages that sources and request types allow."""
    sources = oracle_run.evidence.table(DATAHUB, "sources").values()
    types = oracle_run.evidence.table(APPROVALFLOW, "approval_types").values()
    minutes = {row["freshness_sla_minutes"] for row in sources}
    minutes |= {item["max_age_minutes"] for row in types for item in row["fields"]} - {None}
    return [timedelta(minutes=item) for item in sorted(minutes)]


def _used_metrics(oracle_run: OracleRun) -> set[str]:
    """Return the metrics that DataHub calls named by id, or by key and subject."""
    calls = [line["arguments"] for line in oracle_run.kept.stored["audits"].get(DATAHUB, [])]
    metric_ids = {str(call["metric_id"]) for call in calls if "metric_id" in call}
    keys = {(call.get("key"), call.get("subject")) for call in calls if "subject" in call}
    rows = oracle_run.evidence.table(DATAHUB, "metrics")
    return metric_ids | {key for key, row in rows.items() if (row.get("key"), row.get("subject")) in keys}


def _delegation_variants(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield each approved request decided by a deputy whose delegation is near its limits, or by an excluded person."""
    day = oracle_run.kept.instance.started_at.date()
    for key, row in oracle_run.approved():
        other = _substitute(oracle_run, row)
        made = oracle_run.evidence.row_changes(APPROVALFLOW, "requests", key)[0].at
        amounts = [value for value in row["fields"].values() if type(value) is int]
        drawn = list(_delegations(row, made, amounts))
        yield from (_decided_by(key, row, other, columns) for columns in drawn)
        named = {value for value in row["fields"].values() if oracle_run.company.is_active(str(value), day)}
        excluded = (row["requester_id"], *sorted(map(str, named)))
        yield from (_decided_by(key, row, person_id, drawn[0]) for person_id in excluded)


def zero_limit_delegations(oracle_run: OracleRun) -> Iterator[Mutation]:
    """Yield each approved request decided by a deputy whose delegation has a zero limit."""
    delegations = oracle_run.evidence.table(APPROVALFLOW, "delegations").values()
    for key, row in oracle_run.approved():
        made = oracle_run.evidence.row_changes(APPROVALFLOW, "requests", key)[0].at
        drawn = {**next(_delegations(row, made, [])), "limit_cents": 0}
        givers = [
            row["approver_id"],
            *sorted({delegation["from_id"] for delegation in delegations if delegation["to_id"] == row["approver_id"]}),
        ]
        for giver_id in givers:
            yield _decided_by(key, row, _substitute(oracle_run, row), {**drawn, "from_id": giver_id})


def _substitute(oracle_run: OracleRun, row: Row) -> str:
    """Return an active person who has no role and is neither requester nor approver of a request."""
    day = oracle_run.kept.instance.started_at.date()
    people = [item.id for item in oracle_run.company.people if item.is_employed(day) and not item.roles]
    at_work = [item for item in people if not oracle_run.company.is_out_of_office(item, day)]
    return next(item for item in at_work if item not in (row["requester_id"], row["approver_id"]))


def _delegations(row: Row, made: datetime, amounts: list[int]) -> Iterator[Row]:
    template: Row = {"starts_at": made - timedelta(days=1), "ends_at": made + timedelta(days=1), "revoked_at": None}
    template |= {"type_keys": [], "limit_cents": None}
    yield template
    yield {**template, "type_keys": [row["type_key"]]}
    yield {**template, "type_keys": ["another_type"]}
    for offset in _OFFSETS:
        yield {**template, "starts_at": made + offset}
        yield {**template, "ends_at": made + offset}
        yield {**template, "revoked_at": made + offset}
    for amount in (0, *amounts):
        for offset_cents in (-1, 0, 1):
            yield {**template, "limit_cents": amount + offset_cents}


def _decided_by(request_id: str, row: Row, person_id: str, columns: Row) -> Mutation:
    values = {name: iso_time(value) if isinstance(value, datetime) else value for name, value in columns.items()}
    own = {"id": "DLG-9999", "from_id": row["approver_id"], "to_id": person_id, **values}
    return all_of(
        rewrite_row(APPROVALFLOW, "requests", request_id, approver_id=person_id),
        decide_request(request_id, person_id),
        lambda final_state: final_state.add_initial_row(APPROVALFLOW, "delegations", "DLG-9999", own),
    )


def _ended_at(key: str, moment: datetime) -> Mutation:
    def mutate(final_state: FinalState) -> None:
        own = final_state.changes_of(TICKETDESK, "tickets", key)
        for change in [item for item in own if item["cause"] is not None][-1:]:
            change["at"] = iso_time(moment)

    return mutate


def _declared_at(moment: datetime | None) -> Mutation:
    def mutate(final_state: FinalState) -> None:
        final_state.declared_at = None if moment is None else iso_time(moment)

    return mutate


def _metric_of(metric_id: str, moment: datetime) -> Mutation:
    """Set a metric's measurement time from the start, also in requests."""

    def mutate(final_state: FinalState) -> None:
        metric = final_state.row(DATAHUB, "metrics", metric_id)
        assert metric is not None
        final_state.rewrite(DATAHUB, "metrics", metric_id, as_of=iso_time(moment))
        final_state.change_initial_row(DATAHUB, "metrics", metric_id, as_of=iso_time(moment))
        for change in final_state.changes.get(APPROVALFLOW, []):
            for side in ("before", "after"):
                fields: dict[str, Any] = (change[side] or {}).get("fields") or {}
                for name, value in fields.items():
                    if value == metric["as_of"]:
                        fields[name] = iso_time(moment)
        _show(final_state, metric_id)

    return mutate


def _show(final_state: FinalState, metric_id: str) -> None:
    """Show every state of a metric on a page before the first step."""
    changes = final_state.changes_of(DATAHUB, "metrics", metric_id)
    states = [final_state.initial[DATAHUB]["metrics"].get(metric_id), *(change["after"] for change in changes)]
    final_state.views += [{"step": 0, "shown": dict(state)} for state in states if state is not None]
