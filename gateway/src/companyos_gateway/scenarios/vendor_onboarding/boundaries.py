"""What an onboarding may change, and where the fields of its request have their values from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from companyos_gateway.rubrics import Evidence, NetChange, facts
from companyos_gateway.rubrics.boundaries import Allowance, Covers, added_with, changed_keys, changed_with
from companyos_gateway.rubrics.requests import FieldRecord
from companyos_gateway.scenarios.vendor_onboarding.case import METRIC_KEY, REASON_CODE, TYPE_KEY, Case, Unblocking
from companyos_shared.wire.control import Row

PLAIN_ISSUES = frozenset({"stale", "conflicting"})
"""What a data issue may say of the task's own data without giving a reason code."""


def records_of(case: Case) -> Mapping[str, FieldRecord]:
    """Return the system of record of each field of the request."""

    def value(evidence: Evidence, step: int) -> float | None:
        score = evidence.metric_at(case.score.metric_id, step)
        return None if score is None else score.value

    def as_of(evidence: Evidence, step: int) -> datetime | None:
        score = evidence.metric_at(case.score.metric_id, step)
        return None if score is None else score.as_of

    fixed = {name: _constant(given) for name, given in case.fixed_fields.items()}
    return {**fixed, METRIC_KEY: value, "score_as_of": as_of}


def _constant(given: str | int) -> FieldRecord:
    return lambda _evidence, _step: given


def allowances_of(case: Case) -> Iterable[Allowance]:
    """Return what an onboarding may change, comments and notes on its own entities included."""
    desk, hub, flow = facts.TICKETDESK, facts.DATAHUB, facts.APPROVALFLOW
    own = [case.ticket_key, *([case.blocker.key] if case.blocker else [])]
    columns = {"status", "priority", "verified_at", "verified_by", "approval_ref", "reason_code", "reason_ref"}
    if case.needs_assignee:
        columns.add("assignee_id")
    metrics = [case.score.metric_id, *case.score.other_metric_ids]
    subjects = [case.vendor_id, case.contract_id, case.score.source_id, *metrics]
    yield Allowance(desk, "tickets", changed_keys([case.ticket_key]), frozenset(columns))
    yield Allowance(desk, "checklist_items", changed_with("ticket_key", [case.ticket_key]))
    yield Allowance(desk, "transitions", added_with("ticket_key", [case.ticket_key]))
    yield Allowance(desk, "comments", added_with("ticket_key", own))
    yield Allowance(hub, "metrics", changed_keys(metrics), frozenset({"value", "as_of"}))
    yield Allowance(hub, "metric_values", added_with("metric_id", metrics))
    yield Allowance(hub, "refresh_jobs", added_with("metric_id", metrics))
    yield Allowance(hub, "data_issues", _is_true_issue(case, subjects))
    yield Allowance(flow, "requests", lambda _, change: change.added and _is_own(case, change.after))
    yield Allowance(flow, "decisions", _belongs_to_own(case))
    yield Allowance(flow, "notes", _belongs_to_own(case))
    yield Allowance(desk, "removed_links", _was_linked_by_mistake(own))
    yield from _ways_past(case)


def _ways_past(case: Case) -> Iterable[Allowance]:
    """Return what the right way past the blocker changes."""
    blocker, desk = case.blocker, facts.TICKETDESK
    if blocker is None:
        return
    if blocker.way is Unblocking.RESOLVE:
        yield Allowance(desk, "tickets", changed_keys([blocker.key]), frozenset({"status"}))
        yield Allowance(desk, "transitions", added_with("ticket_key", [blocker.key]))
    if blocker.way is Unblocking.UNLINK:
        yield Allowance(desk, "links", lambda _, change: change.deleted and change.key == blocker.link_id)
        yield Allowance(desk, "removed_links", lambda _, change: change.added and change.key == blocker.link_id)


def _was_linked_by_mistake(own: Collection[str]) -> Covers:
    """Return what accepts a link that was made in the episode, by one of the task's tickets, and taken off again."""

    def covers(evidence: Evidence, change: NetChange) -> bool:
        row = change.after
        if not change.added or row is None or not {row["from_key"], row["to_key"]} & set(own):
            return False
        return evidence.was_made(facts.TICKETDESK, "links", change.key)

    return covers


def _is_true_issue(case: Case, subjects: Collection[str]) -> Covers:
    """Return what accepts an issue that says what is so: old or conflicting data, or why the vendor is refused."""

    def covers(_evidence: Evidence, change: NetChange) -> bool:
        row = change.after
        if not change.added or row is None or row["subject"] not in subjects:
            return False
        if row["reason_code"] is None:
            return row["kind"] in PLAIN_ISSUES
        reason = (row["reason_code"], row["reason_ref"])
        return case.must_refuse and reason in {(REASON_CODE, reference) for reference in case.policy_refs}

    return covers


def _is_own(case: Case, row: Row | None) -> bool:
    """Say whether a row is a request of the task."""
    if row is None:
        return False
    request = facts.request(row)
    return (request.type_key, request.subject, request.requester_id) == (TYPE_KEY, case.vendor_id, case.agent_id)


def _belongs_to_own(case: Case) -> Covers:
    def covers(evidence: Evidence, change: NetChange) -> bool:
        if not change.added or change.after is None:
            return False
        request_id = change.after["request_id"]
        return _is_own(case, evidence.row(facts.APPROVALFLOW, "requests", request_id))

    return covers
