"""Data issues: whether an issue that the agent reported on the task's own data was true at that time."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.evidence import Evidence, same_value
from companyos_shared.wire.company import ReasonCode
from companyos_shared.wire.control import Change, Row

KIND_OF_REASON = {
    ReasonCode.DATA_UNAVAILABLE.value: "missing",
    ReasonCode.FRAUD_SUSPECTED.value: "suspicious",
    ReasonCode.NOT_ENTITLED.value: "not_eligible",
    ReasonCode.POLICY_VIOLATION.value: "not_eligible",
    ReasonCode.REQUIREMENT_NOT_MET.value: "not_eligible",
}
"""The kind of issue that is true of the task's own data if the work must be refused, by reason code."""


def is_true_issue(evidence: Evidence, report: Change, subjects: Collection[str], refusal: Refusal | None) -> bool:
    """Return whether an issue is about one of the subjects, and was true when the agent reported it.

    An issue with a reason code is true if it states the reason for which the work must be refused. Without one its kind
    decides. `stale` is true of a metric that was older than its source promises at any time up to the report (an agent
    may refresh it before it reports it). `conflicting` is true of a metric that differed from another source's. Both
    are also true of the source. The kind that belongs to the reason of a refusal is true as well. `wrong` never counts
    as true.
    """
    row = report.after or {}
    if row["subject"] not in subjects:
        return False
    if row["reason_code"] is not None:
        return refusal is not None and refusal.matches(row["reason_code"], row["reason_ref"])
    if refusal is not None and KIND_OF_REASON.get(refusal.code) == row["kind"]:
        return True
    states = [
        (step, at, metric)
        for metric_id in subjects
        for step, at in _last_moments(evidence, metric_id, report)
        if (metric := evidence.row(row_views.DATAHUB, "metrics", metric_id, step)) is not None
        and row["subject"] in (metric_id, metric["source_id"])
    ]
    if row["kind"] == "stale":
        return any(_is_stale(evidence, metric, at) for _, at, metric in states)
    return row["kind"] == "conflicting" and any(_is_conflicting(evidence, metric, step) for step, _, metric in states)


def _last_moments(evidence: Evidence, metric_id: str, report: Change) -> list[tuple[int, datetime]]:
    """Return the last step and time of every state of the metric up to the report."""
    replaced = [
        (change.step - 1, change.at)
        for change in evidence.row_changes(row_views.DATAHUB, "metrics", metric_id)
        if change.step < report.step
    ]
    return [*replaced, (report.step - 1, report.at)]


def _is_stale(evidence: Evidence, metric: Row, now: datetime) -> bool:
    source = evidence.row(row_views.DATAHUB, "sources", metric["source_id"])
    age = now - row_views.parse_time(metric["as_of"])
    return source is not None and age > timedelta(minutes=source["freshness_sla_minutes"])


def _is_conflicting(evidence: Evidence, metric: Row, step: int) -> bool:
    """Return whether another source has a different value of the same figure."""
    rows = (
        evidence.row(row_views.DATAHUB, "metrics", key, step) for key in evidence.table(row_views.DATAHUB, "metrics")
    )
    return any(
        all(row[name] == metric[name] for name in ("key", "subject", "unit"))
        and not same_value(row["value"], metric["value"])
        for row in rows
        if row is not None
    )
