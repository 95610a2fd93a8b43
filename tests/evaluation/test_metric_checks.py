"""Metrics that the agent has read, failed refreshes, maintenance, and corrections based on known values."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from companyos_gateway.evaluation import Evidence
from companyos_gateway.evaluation.cases import MetricSpec
from companyos_gateway.evaluation.facts import DeclaredMoment
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.metric_checks import MetricChecks
from companyos_gateway.evaluation.record_corrections import MetricReported, RecordCorrected
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import Change, Report
from tests.evaluation.evidence_builder import NOW, EvidenceBuilder, audit

HUB = "datahub"
READING = MetricSpec(
    metric_id="MET-1",
    key="error_rate",
    subject="checkout",
    source_id="SRC-1",
    other_metric_ids=(),
    max_age=timedelta(minutes=60),
    is_stale=True,
    value=40.0,
    failing_refreshes=0,
)
REQUESTED = {"key": "error_rate", "subject": "checkout", "source_id": "SRC-1"}
WINDOW = {"maintenance_from": "2026-03-02T08:00:00Z", "maintenance_to": "2026-03-09T17:00:00Z"}
METRIC = MetricChecks(READING)
DECLARED = DeclaredMoment(NOW)


@pytest.fixture
def builder() -> EvidenceBuilder:
    """Provide a stale metric, a record with another value, and no reported issue."""
    metric = {"id": "MET-1", "value": 30.0, "as_of": (NOW - timedelta(hours=9)).isoformat()}
    record = {"id": "CTR-1", "state": "active", "ends_on": None, "fields": {"error_rate": 12}}
    tables: dict[str, Any] = {"data_issues": {}, "refresh_jobs": {}}
    return EvidenceBuilder(datahub={"metrics": {"MET-1": metric}, "records": {"CTR-1": record}, **tables})


def _read(
    builder: EvidenceBuilder, step: int, operation: str = "query_metric", *, code: str | None = None, **arguments: Any
) -> None:
    requested = arguments or {"key": "error_rate", "subject": "checkout", "source_id": None}
    status = 200 if code is None else 409
    line = audit(step, operation=operation, arguments=requested, status=status, code=code)
    metric = builder.evidence.row(HUB, "metrics", "MET-1") or {}
    is_of_metric = all(requested.get(name) in (None, value) for name, value in REQUESTED.items())
    reading = {"metric_id": "MET-1" if is_of_metric else "MET-9", "value": metric["value"], "as_of": metric["as_of"]}
    shown = {"readings": [reading]} if operation == "query_metric" else {"id": requested.get("source_id"), **WINDOW}
    builder.evidence.record(HUB, Report(audit=line), shown)


def _refresh(builder: EvidenceBuilder) -> None:
    builder.put_by_clock(HUB, "metrics", "MET-1", cause="e:1:1", value=40.0, as_of=NOW.isoformat())


def _issue(builder: EvidenceBuilder, key: str = "DI-1", **columns: Any) -> None:
    usual = {"subject": "MET-1", "kind": "missing", "reason_code": "data_unavailable", "reason_ref": "SRC-1"}
    builder.put(HUB, "data_issues", key, **(usual | columns))


def _is_known(builder: EvidenceBuilder, at: datetime = NOW) -> bool:
    return METRIC.fact().was_known(builder.evidence, DeclaredMoment(at))


def test_a_value_is_known_if_the_current_one_was_shown(builder: EvidenceBuilder) -> None:
    _refresh(builder)
    assert not _is_known(builder)
    _read(builder, 5)
    assert _is_known(builder)


def test_a_stale_value_is_not_known(builder: EvidenceBuilder) -> None:
    _read(builder, 0)
    assert not _is_known(builder)


def test_a_value_at_a_limit_is_neither_above_nor_below_it(builder: EvidenceBuilder) -> None:
    _refresh(builder)
    _read(builder, 5)
    value, moment = METRIC.value_at(builder.evidence), DeclaredMoment(NOW)
    assert value is not None
    limits = value - 1, value, value + 1
    assert [METRIC.above_fact(one).was_known(builder.evidence, moment) for one in limits] == [True, False, False]
    assert [METRIC.below_fact(one).was_known(builder.evidence, moment) for one in limits] == [False, False, True]


def test_a_value_shown_in_the_history_is_known(builder: EvidenceBuilder) -> None:
    _refresh(builder)
    line = audit(3, operation="get_metric_history", arguments={"metric_id": "MET-1"})
    values = [{"value": 40.0, "as_of": NOW.isoformat()}, {"value": 12.0, "as_of": "2026-02-02T09:00:00Z"}]
    builder.evidence.record(HUB, Report(audit=line), {"items": values, "total": 2})
    assert _is_known(builder)
    assert METRIC.earlier_value_fact(12.0).was_known(builder.evidence, DECLARED)
    assert not METRIC.earlier_value_fact(13.0).was_known(builder.evidence, DECLARED)


def test_a_value_is_in_the_unit_of_the_task(builder: EvidenceBuilder) -> None:
    finer = MetricChecks(replace(READING, per_unit=10))
    assert (METRIC.value_at(builder.evidence), finer.value_at(builder.evidence)) == (30.0, 3.0)


@pytest.mark.parametrize("requested", [{"source_id": "SRC-2"}, {"subject": "search"}, {"key": "uptime"}])
def test_reading_another_object_does_not_count_as_reading_the_metric(
    builder: EvidenceBuilder, requested: dict[str, Any]
) -> None:
    expected: dict[str, Any] = {"key": "error_rate", "subject": "checkout", "source_id": None}
    _refresh(builder)
    _read(builder, 1, **(expected | requested))
    assert not _is_known(builder)


def test_a_value_is_fresh_up_to_its_age_limit(builder: EvidenceBuilder) -> None:
    _refresh(builder)
    _read(builder, 1)
    assert _is_known(builder, NOW + timedelta(minutes=60))
    assert not _is_known(builder, NOW + timedelta(minutes=61))


def _change(step: int) -> Change:
    return Change(
        seq=1, step=step, at=NOW, actor=Actor.AGENT, table="tickets", key="OPS-1", before=None, after={}, cause=None
    )


def test_failures_are_counted_up_to_a_step(builder: EvidenceBuilder) -> None:
    for n in (1, 2):
        builder.put_by_clock(HUB, "refresh_jobs", f"RJ-{n}", cause="e:1:1", metric_id="MET-1", status="failed")
    builder.put_by_clock(HUB, "refresh_jobs", "RJ-3", cause="e:1:1", metric_id="MET-9", status="failed")
    known = [
        METRIC.failures_fact(count).was_known(builder.evidence, _change(step)) for step in (2, 3) for count in (1, 2)
    ]
    assert known == [True, False, True, True]


def test_maintenance_is_known_after_reading_it_or_after_a_rejected_refresh(builder: EvidenceBuilder) -> None:
    assert not METRIC.maintenance_fact().was_known(builder.evidence, _change(9))
    _read(builder, 1, "refresh_metric", code="refresh-running", metric_id="MET-1")
    assert not METRIC.maintenance_fact().was_known(builder.evidence, _change(9))
    _read(builder, 2, "refresh_metric", code="maintenance-window", metric_id="MET-1")
    assert METRIC.maintenance_fact().was_known(builder.evidence, _change(9))
    assert not METRIC.maintenance_fact().was_known(builder.evidence, _change(2))


def _correction() -> RecordCorrected:
    return RecordCorrected(RecordGoal(record_id="CTR-1", fields={"error_rate": 40}), READING)


def _correct(builder: EvidenceBuilder, value: Any = 40) -> Evidence:
    builder.put(HUB, "records", "CTR-1", fields={"error_rate": value})
    return builder.evidence


def test_a_record_is_corrected_once_the_fresh_value_was_read(builder: EvidenceBuilder) -> None:
    _refresh(builder)
    _read(builder, 1)
    assert _correction().is_met(_correct(builder))
    assert not _correction().is_met(_correct(builder, 41))


def test_a_guessed_value_is_not_a_correction(builder: EvidenceBuilder) -> None:
    _refresh(builder)
    assert not _correction().is_met(_correct(builder))


def test_a_value_that_becomes_right_later_is_not_a_correction(builder: EvidenceBuilder) -> None:
    evidence = _correct(builder)
    _refresh(builder)
    _read(builder, 9)
    assert not _correction().is_met(evidence)


def test_one_issue_of_the_kind_reports_a_metric(builder: EvidenceBuilder) -> None:
    reported = MetricReported("MET-1")
    _issue(builder, kind="stale")
    assert not reported.is_met(builder.evidence)
    _issue(builder, "DI-2", kind="wrong")
    assert reported.is_met(builder.evidence)
    assert not reported.is_met(builder.evidence, step=1)
    _issue(builder, "DI-3", kind="wrong")
    assert not reported.is_met(builder.evidence)
