"""What tasks allow to change: the entry ticket, what is in its way, own requests, metrics and issues."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from companyos_gateway.rubrics import facts
from companyos_gateway.rubrics.boundaries import Allowance, Covers, added_with, changed_keys, changed_with
from companyos_gateway.rubrics.cases import DeskCase, Refusal, Unblocking
from companyos_gateway.rubrics.evidence import Evidence, NetChange
from companyos_gateway.rubrics.requests import RequestRules
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import Row

DESK, HUB, FLOW = facts.TICKETDESK, facts.DATAHUB, facts.APPROVALFLOW
TICKET_COLUMNS = frozenset(
    {"status", "priority", "verified_at", "verified_by", "approval_ref", "reason_code", "reason_ref"}
)
PLAIN_ISSUES = frozenset({"stale", "conflicting"})
"""What a data issue may say of the task's own data without giving a reason code."""


def entry_allowances(case: DeskCase) -> Iterable[Allowance]:
    """Return what may change on the entry ticket and around it, comments included."""
    own = [case.ticket_key, *([case.blocker.key] if case.blocker else [])]
    columns = TICKET_COLUMNS | ({"assignee_id"} if case.needs_assignee else frozenset())
    yield Allowance(DESK, "tickets", changed_keys([case.ticket_key]), columns)
    yield Allowance(DESK, "checklist_items", changed_with("ticket_key", [case.ticket_key]))
    yield Allowance(DESK, "transitions", added_with("ticket_key", [case.ticket_key]))
    yield Allowance(DESK, "comments", added_with("ticket_key", own))
    yield Allowance(DESK, "removed_links", linked_by_mistake(own))
    yield from _ways_past(case)


def metric_allowances(metric_ids: Collection[str]) -> Iterable[Allowance]:
    """Return what refreshing the metrics changes."""
    yield Allowance(HUB, "metrics", _was_refreshed(metric_ids), frozenset({"value", "as_of"}))
    yield Allowance(HUB, "metric_values", added_with("metric_id", metric_ids))
    yield Allowance(HUB, "refresh_jobs", added_with("metric_id", metric_ids))


def issue_allowances(
    subjects: Collection[str], refusal: Refusal | None, *, plain: Collection[str] = PLAIN_ISSUES
) -> Iterable[Allowance]:
    """Return the issues that say what is so: old or conflicting data, or why the work is refused."""
    yield Allowance(HUB, "data_issues", _is_true_issue(subjects, refusal, plain))


def request_allowances(requests: RequestRules) -> Iterable[Allowance]:
    """Return the agent's own requests, with what is decided and noted on them."""

    def is_own(row: Row | None) -> bool:
        return row is not None and requests.owns(facts.request(row))

    def belongs_to_own(evidence: Evidence, change: NetChange) -> bool:
        if not change.added or change.after is None:
            return False
        return is_own(evidence.row(FLOW, "requests", change.after["request_id"]))

    yield Allowance(FLOW, "requests", lambda _, change: change.added and is_own(change.after))
    yield Allowance(FLOW, "decisions", belongs_to_own)
    yield Allowance(FLOW, "notes", belongs_to_own)


def record_allowance(record_id: str, columns: Collection[str]) -> Allowance:
    """Return that those columns of a record may change."""
    return Allowance(HUB, "records", changed_keys([record_id]), frozenset(columns))


def linked_by_mistake(own: Collection[str]) -> Covers:
    """Return what accepts a link that was made in the episode, by one of the task's tickets, and taken off again."""

    def covers(evidence: Evidence, change: NetChange) -> bool:
        row = change.after
        if not change.added or row is None or not {row["from_key"], row["to_key"]} & set(own):
            return False
        return evidence.was_made(DESK, "links", change.key)

    return covers


def _ways_past(case: DeskCase) -> Iterable[Allowance]:
    """Return what the right way past the blocker changes."""
    blocker = case.blocker
    if blocker is None:
        return
    if blocker.way is Unblocking.RESOLVE:
        yield Allowance(DESK, "tickets", changed_keys([blocker.key]), frozenset({"status"}))
        yield Allowance(DESK, "transitions", added_with("ticket_key", [blocker.key]))
    if blocker.way is Unblocking.UNLINK:
        yield Allowance(DESK, "links", lambda _, change: change.deleted and change.key == blocker.link_id)
        yield Allowance(DESK, "removed_links", lambda _, change: change.added and change.key == blocker.link_id)


def _was_refreshed(metric_ids: Collection[str]) -> Covers:
    """Return what accepts metrics that refreshes have changed, and nobody by hand."""
    changed = changed_keys(metric_ids)

    def covers(evidence: Evidence, change: NetChange) -> bool:
        made = evidence.row_changes(HUB, "metrics", change.key)
        return changed(evidence, change) and all(one.actor is Actor.CLOCK for one in made)

    return covers


def _is_true_issue(subjects: Collection[str], refusal: Refusal | None, plain: Collection[str]) -> Covers:
    def covers(_evidence: Evidence, change: NetChange) -> bool:
        row = change.after
        if not change.added or row is None or row["subject"] not in subjects:
            return False
        if row["reason_code"] is None:
            return row["kind"] in plain
        return refusal is not None and refusal.is_given(row["reason_code"], row["reason_ref"])

    return covers
