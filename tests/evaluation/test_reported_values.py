"""Answers by value, figures as the agent has read them, corrections that were known."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from companyos_gateway.evaluation import Evidence
from companyos_gateway.evaluation.cases import MetricSpec
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.record_corrections import MetricReported, RecordCorrected
from companyos_gateway.evaluation.reported_values import Question, ReportedValue, check_answers, is_same_answer
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import AuditLine, Change, Report
from tests.evaluation.evidence_builder import NOW, EvidenceBuilder

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
ASKED = {"key": "error_rate", "subject": "checkout", "source_id": "SRC-1"}
WINDOW = {"maintenance_from": "2026-03-02T08:00:00Z", "maintenance_to": "2026-03-09T17:00:00Z"}
FIGURE = ReportedValue("error_rate", "checkout", READING)


@pytest.fixture
def builder() -> EvidenceBuilder:
    """A stale metric, a record that holds another value, nothing reported."""
    metric = {"id": "MET-1", "value": 30.0, "as_of": (NOW - timedelta(hours=9)).isoformat()}
    record = {"id": "CTR-1", "state": "active", "ends_on": None, "fields": {"error_rate": 12}}
    tables: dict[str, Any] = {"data_issues": {}, "refresh_jobs": {}}
    return EvidenceBuilder(datahub={"metrics": {"MET-1": metric}, "records": {"CTR-1": record}, **tables})


def _read(
    builder: EvidenceBuilder, step: int, operation: str = "query_metric", *, code: str | None = None, **arguments: Any
) -> None:
    requested = arguments or {"key": "error_rate", "subject": "checkout", "source_id": None}
    status = 200 if code is None else 409
    line = AuditLine(
        step=step, at=NOW, actor=Actor.AGENT, operation=operation, arguments=requested, status=status, code=code
    )
    metric = builder.evidence.row(HUB, "metrics", "MET-1") or {}
    is_of_metric = all(requested.get(name) in (None, value) for name, value in ASKED.items())
    reading = {"metric_id": "MET-1" if is_of_metric else "MET-9", "value": metric["value"], "as_of": metric["as_of"]}
    shown = {"readings": [reading]} if operation == "query_metric" else {"id": requested.get("source_id"), **WINDOW}
    builder.evidence.record(HUB, Report(audit=line), shown)


def _refresh(builder: EvidenceBuilder) -> None:
    builder.put_by_clock(HUB, "metrics", "MET-1", cause="e:1:1", value=40.0, as_of=NOW.isoformat())


def _issue(builder: EvidenceBuilder, key: str = "DI-1", **columns: Any) -> None:
    usual = {"subject": "MET-1", "kind": "missing", "reason_code": "data_unavailable", "reason_ref": "SRC-1"}
    builder.put(HUB, "data_issues", key, **(usual | columns))


@pytest.mark.parametrize("given", [85, 85.0, 85 + 1e-12])
def test_a_number_is_the_same_by_value(given: float) -> None:
    assert is_same_answer(given, 85.0)


@pytest.mark.parametrize("given", ["85", True, None, 84, 85.5, float("nan"), float("inf"), 10**400, [85], {"x": 85}])
def test_what_only_looks_like_the_number_is_another_answer(given: Any) -> None:
    assert not is_same_answer(given, 85.0)


@pytest.mark.parametrize("given", ["ven-1", " VEN-1", "VEN-1 ", 1, None, True])
def test_text_is_the_same_only_letter_by_letter(given: Any) -> None:
    assert is_same_answer("VEN-1", "VEN-1")
    assert not is_same_answer(given, "VEN-1")


def test_one_is_not_true_and_nothing_answers_what_nobody_knows() -> None:
    assert not is_same_answer(True, 1.0)
    assert not is_same_answer(None, None)


def test_every_question_is_answered_and_nothing_beside_them(builder: EvidenceBuilder) -> None:
    questions = [Question("rate", FIGURE.value), Question("who", lambda _: "checkout")]

    def holds(**answers: Any) -> bool:
        return check_answers(questions, builder.evidence, answers) is None

    assert holds(rate=30, who="checkout")
    assert not holds(rate=30)
    assert not holds(rate=30, who="checkout", more=1)
    assert check_answers(questions, builder.evidence, None) is not None


def test_a_figure_was_read_if_its_present_value_was_shown(builder: EvidenceBuilder) -> None:
    assert FIGURE.find_unread(builder.evidence) is not None
    _read(builder, 0)
    assert FIGURE.find_unread(builder.evidence) is None
    _refresh(builder)
    assert FIGURE.find_unread(builder.evidence) is not None
    _read(builder, 5)
    assert FIGURE.find_unread(builder.evidence) is None


def test_a_figure_is_read_in_its_history_as_well(builder: EvidenceBuilder) -> None:
    line = AuditLine(
        step=3,
        at=NOW,
        actor=Actor.AGENT,
        operation="get_metric_history",
        arguments={"metric_id": "MET-1"},
        status=200,
    )
    value = {"value": 30.0, "as_of": (NOW - timedelta(hours=9)).isoformat()}
    builder.evidence.record(HUB, Report(audit=line), {"items": [value], "total": 1})
    assert FIGURE.find_unread(builder.evidence) is None


def test_a_figure_is_told_in_the_unit_that_the_task_is_about(builder: EvidenceBuilder) -> None:
    finer = ReportedValue("error_rate", "checkout", replace(READING, per_unit=10))
    assert (FIGURE.value(builder.evidence), finer.value(builder.evidence)) == (30.0, 3.0)


@pytest.mark.parametrize("requested", [{"source_id": "SRC-2"}, {"subject": "search"}, {"key": "uptime"}])
def test_reading_something_else_is_not_reading_the_figure(builder: EvidenceBuilder, requested: dict[str, Any]) -> None:
    expected: dict[str, Any] = {"key": "error_rate", "subject": "checkout", "source_id": None}
    _read(builder, 1, **(expected | requested))
    assert FIGURE.find_unread(builder.evidence) is not None


def test_a_figure_is_fresh_up_to_its_age_limit(builder: EvidenceBuilder) -> None:
    _refresh(builder)
    assert FIGURE.is_fresh_at(builder.evidence, NOW + timedelta(minutes=60))
    assert not FIGURE.is_fresh_at(builder.evidence, NOW + timedelta(minutes=61))
    assert not FIGURE.is_fresh_at(builder.evidence, None)


def _change(step: int) -> Change:
    return Change(
        seq=1, step=step, at=NOW, actor=Actor.AGENT, table="tickets", key="OPS-1", before=None, after={}, cause=None
    )


def test_failures_count_up_to_a_step(builder: EvidenceBuilder) -> None:
    for n in (1, 2):
        builder.put_by_clock(HUB, "refresh_jobs", f"RJ-{n}", cause="e:1:1", metric_id="MET-1", status="failed")
    builder.put_by_clock(HUB, "refresh_jobs", "RJ-3", cause="e:1:1", metric_id="MET-9", status="failed")
    known = [
        FIGURE.failures_fact(count).was_known(builder.evidence, _change(step)) for step in (2, 3) for count in (1, 2)
    ]
    assert known == [True, False, True, True]


def test_maintenance_is_found_by_looking_or_by_being_refused(builder: EvidenceBuilder) -> None:
    assert not FIGURE.maintenance_fact().was_known(builder.evidence, _change(9))
    _read(builder, 1, "refresh_metric", code="refresh-running", metric_id="MET-1")
    assert not FIGURE.maintenance_fact().was_known(builder.evidence, _change(9))
    _read(builder, 2, "refresh_metric", code="maintenance-window", metric_id="MET-1")
    assert FIGURE.maintenance_fact().was_known(builder.evidence, _change(9))
    assert not FIGURE.maintenance_fact().was_known(builder.evidence, _change(2))


def _correction() -> RecordCorrected:
    return RecordCorrected(RecordGoal(record_id="CTR-1", fields={"error_rate": 40}), FIGURE)


def _correct(builder: EvidenceBuilder, value: Any = 40) -> Evidence:
    builder.put(HUB, "records", "CTR-1", fields={"error_rate": value})
    return builder.evidence


def test_a_record_is_corrected_once_the_fresh_value_was_read(builder: EvidenceBuilder) -> None:
    _refresh(builder)
    _read(builder, 1)
    assert _correction().is_met(_correct(builder))
    assert not _correction().is_met(_correct(builder, 41))


def test_a_value_that_was_only_guessed_corrects_nothing(builder: EvidenceBuilder) -> None:
    _refresh(builder)
    assert not _correction().is_met(_correct(builder))


def test_a_value_that_became_right_later_corrects_nothing(builder: EvidenceBuilder) -> None:
    evidence = _correct(builder)
    _refresh(builder)
    _read(builder, 9)
    assert not _correction().is_met(evidence)


def test_a_metric_is_reported_by_one_issue_of_the_kind(builder: EvidenceBuilder) -> None:
    reported = MetricReported("MET-1")
    _issue(builder, kind="stale")
    assert not reported.is_met(builder.evidence)
    _issue(builder, "DI-2", kind="wrong")
    assert reported.is_met(builder.evidence)
    assert not reported.is_met(builder.evidence, step=1)
    _issue(builder, "DI-3", kind="wrong")
    assert not reported.is_met(builder.evidence)
