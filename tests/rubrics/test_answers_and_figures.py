"""Answers by value, figures as the agent has read them, corrections that were known."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from companyos_gateway.rubrics import Evidence
from companyos_gateway.rubrics.answers import Question, is_same_answer, judge_answers
from companyos_gateway.rubrics.cases import Reading
from companyos_gateway.rubrics.corrections import MetricReported, RecordCorrected
from companyos_gateway.rubrics.figures import Figure
from companyos_gateway.rubrics.records import RecordGoal
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import AuditLine, Report
from tests.rubrics.builders import NOW, Tale

HUB = "datahub"
READING = Reading(
    metric_id="MET-1",
    source_id="SRC-1",
    other_metric_ids=(),
    max_age=timedelta(minutes=60),
    is_stale=True,
    value=40.0,
    failing_refreshes=0,
    refresh_minutes=5,
)
FIGURE = Figure("error_rate", "checkout", READING)


@pytest.fixture
def tale() -> Tale:
    """A stale metric, a record that holds another value, nothing reported."""
    metric = {"id": "MET-1", "value": 30.0, "as_of": (NOW - timedelta(hours=9)).isoformat()}
    record = {"id": "CTR-1", "state": "active", "ends_on": None, "fields": {"error_rate": 12}}
    tables: dict[str, Any] = {"data_issues": {}, "refresh_jobs": {}}
    return Tale(datahub={"metrics": {"MET-1": metric}, "records": {"CTR-1": record}, **tables})


def _read(tale: Tale, step: int, operation: str = "query_metric", *, code: str | None = None, **arguments: Any) -> None:
    asked = arguments or {"key": "error_rate", "subject": "checkout", "source_id": None}
    status = 200 if code is None else 409
    line = AuditLine(
        step=step, at=NOW, actor=Actor.AGENT, operation=operation, arguments=asked, status=status, code=code
    )
    tale.evidence.record(HUB, Report(audit=line))


def _refresh(tale: Tale) -> None:
    tale.happen(HUB, "metrics", "MET-1", cause="e:1:1", value=40.0, as_of=NOW.isoformat())


def _issue(tale: Tale, key: str = "DI-1", **columns: Any) -> None:
    usual = {"subject": "MET-1", "kind": "missing", "reason_code": "data_unavailable", "reason_ref": "SRC-1"}
    tale.put(HUB, "data_issues", key, **(usual | columns))


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


def test_every_question_is_answered_and_nothing_beside_them(tale: Tale) -> None:
    questions = [Question("rate", FIGURE.value), Question("who", lambda _: "checkout")]

    def holds(**answers: Any) -> bool:
        return judge_answers(questions, tale.evidence, answers)[0]

    assert holds(rate=30, who="checkout")
    assert not holds(rate=30)
    assert not holds(rate=30, who="checkout", more=1)
    assert not judge_answers(questions, tale.evidence, None)[0]


def test_a_figure_was_read_where_the_very_value_of_now_was(tale: Tale) -> None:
    assert not FIGURE.was_read(tale.evidence)
    _read(tale, 0)
    assert FIGURE.was_read(tale.evidence)
    _refresh(tale)
    assert not FIGURE.was_read(tale.evidence)
    _read(tale, 5)
    assert FIGURE.was_read(tale.evidence)


def test_a_figure_is_told_in_the_unit_that_the_task_is_about(tale: Tale) -> None:
    finer = Figure("error_rate", "checkout", replace(READING, per_unit=10))
    assert (FIGURE.value(tale.evidence), finer.value(tale.evidence)) == (30.0, 3.0)


@pytest.mark.parametrize("asked", [{"source_id": "SRC-2"}, {"subject": "search"}, {"key": "uptime"}])
def test_reading_something_else_is_not_reading_the_figure(tale: Tale, asked: dict[str, Any]) -> None:
    wanted: dict[str, Any] = {"key": "error_rate", "subject": "checkout", "source_id": None}
    _read(tale, 1, **(wanted | asked))
    assert not FIGURE.was_read(tale.evidence)


def test_a_figure_is_fresh_up_to_its_age_limit(tale: Tale) -> None:
    _refresh(tale)
    assert FIGURE.is_fresh_at(tale.evidence, NOW + timedelta(minutes=60))
    assert not FIGURE.is_fresh_at(tale.evidence, NOW + timedelta(minutes=61))
    assert not FIGURE.is_fresh_at(tale.evidence, None)


def test_failures_count_up_to_a_step(tale: Tale) -> None:
    for n in (1, 2):
        tale.happen(HUB, "refresh_jobs", f"RJ-{n}", cause="e:1:1", metric_id="MET-1", status="failed")
    tale.happen(HUB, "refresh_jobs", "RJ-3", cause="e:1:1", metric_id="MET-9", status="failed")
    assert [FIGURE.failures(tale.evidence, before_step=step) for step in (1, 2, 3, 9)] == [0, 1, 2, 2]


def test_maintenance_is_found_by_looking_or_by_being_refused(tale: Tale) -> None:
    assert not FIGURE.was_found_in_maintenance(tale.evidence, before_step=9)
    _read(tale, 1, "refresh_metric", code="refresh-running", metric_id="MET-1")
    assert not FIGURE.was_found_in_maintenance(tale.evidence, before_step=9)
    _read(tale, 2, "refresh_metric", code="maintenance-window", metric_id="MET-1")
    assert FIGURE.was_found_in_maintenance(tale.evidence, before_step=9)
    assert not FIGURE.was_found_in_maintenance(tale.evidence, before_step=2)


def _correction() -> RecordCorrected:
    return RecordCorrected(RecordGoal(record_id="CTR-1", fields={"error_rate": 40}), FIGURE)


def _correct(evidence_of: Tale, value: Any = 40) -> Evidence:
    evidence_of.put(HUB, "records", "CTR-1", fields={"error_rate": value})
    return evidence_of.evidence


def test_a_record_is_corrected_once_the_fresh_value_was_read(tale: Tale) -> None:
    _refresh(tale)
    _read(tale, 1)
    assert _correction().is_met(_correct(tale))
    assert not _correction().is_met(_correct(tale, 41))


def test_a_value_that_was_only_guessed_corrects_nothing(tale: Tale) -> None:
    _refresh(tale)
    assert not _correction().is_met(_correct(tale))


def test_a_value_that_became_right_later_corrects_nothing(tale: Tale) -> None:
    evidence = _correct(tale)
    _refresh(tale)
    _read(tale, 9)
    assert not _correction().is_met(evidence)


def test_a_metric_is_reported_by_one_issue_of_the_kind(tale: Tale) -> None:
    reported = MetricReported("MET-1")
    _issue(tale, kind="stale")
    assert not reported.is_met(tale.evidence)
    _issue(tale, "DI-2", kind="wrong")
    assert reported.is_met(tale.evidence)
    assert not reported.is_met(tale.evidence, step=1)
    _issue(tale, "DI-3", kind="wrong")
    assert not reported.is_met(tale.evidence)
