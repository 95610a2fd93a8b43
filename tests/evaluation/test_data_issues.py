"""Data issues that the agent may report without being asked, about the task's own data."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.change_policy import ChangePolicy, issue_allowances
from tests.evaluation.evidence_builder import EvidenceBuilder

OLD, NEW = "2026-03-01T09:00:00Z", "2026-03-02T09:55:00Z"
SUBJECTS = ("MET-1", "MET-2", "SRC-1", "REC-1")
REFUSAL = Refusal("requirement_not_met", ("POL-1",))


def _builder(*, as_of: str = NEW, other_value: float = 5.0, other_unit: str = "days") -> EvidenceBuilder:
    metric = {"key": "days_left", "subject": "LIC-1", "unit": "days", "value": 5.0, "as_of": as_of}
    other = {**metric, "as_of": NEW, "value": other_value, "unit": other_unit}
    metrics = {
        "MET-1": {**metric, "id": "MET-1", "source_id": "SRC-1"},
        "MET-2": {**other, "id": "MET-2", "source_id": "SRC-2"},
    }
    sources = {key: {"id": key, "freshness_sla_minutes": 60} for key in ("SRC-1", "SRC-2")}
    return EvidenceBuilder(datahub={"metrics": metrics, "sources": sources, "data_issues": {}})


def _report(builder: EvidenceBuilder, kind: str, subject: str, **reason: str) -> None:
    row: dict[str, Any] = {"subject": subject, "kind": kind, "reason_code": None, "reason_ref": None}
    builder.put("datahub", "data_issues", "DI-1", **(row | reason))


def _is_allowed(builder: EvidenceBuilder, refusal: Refusal | None = None) -> bool:
    return ChangePolicy(issue_allowances(SUBJECTS, refusal)).violations(builder.evidence) == []


@pytest.mark.parametrize(
    ("values", "kind", "subject"),
    [
        ({"as_of": OLD}, "stale", "MET-1"),
        ({"as_of": OLD}, "stale", "SRC-1"),
        ({"other_value": 6.0}, "conflicting", "MET-1"),
        ({"other_value": 6.0}, "conflicting", "MET-2"),
        ({"other_value": 6.0}, "conflicting", "SRC-1"),
    ],
)
def test_a_true_issue_about_data_of_the_task_is_allowed(values: dict[str, Any], kind: str, subject: str) -> None:
    builder = _builder(**values)
    _report(builder, kind, subject)
    assert _is_allowed(builder)


@pytest.mark.parametrize(
    ("values", "kind", "subject"),
    [
        ({}, "stale", "MET-1"),
        ({}, "conflicting", "MET-1"),
        ({"other_value": 6.0, "other_unit": "hours"}, "conflicting", "MET-1"),
        ({"as_of": OLD}, "stale", "MET-2"),
        ({"as_of": OLD}, "stale", "REC-1"),
        ({"as_of": OLD}, "stale", "SRC-2"),
        ({"as_of": OLD, "other_value": 6.0}, "wrong", "MET-1"),
        ({}, "not_eligible", "REC-1"),
    ],
)
def test_a_false_or_unrelated_issue_is_not_allowed(values: dict[str, Any], kind: str, subject: str) -> None:
    builder = _builder(**values)
    _report(builder, kind, subject)
    assert not _is_allowed(builder)


@pytest.mark.parametrize("kind", ["stale", "conflicting"])
def test_a_problem_with_a_metric_may_be_reported_after_its_refresh(kind: str) -> None:
    builder = _builder(as_of=OLD, other_value=6.0)
    builder.put_by_clock("datahub", "metrics", "MET-1", as_of=NEW, value=6.0)
    _report(builder, kind, "MET-1")
    assert _is_allowed(builder)


@pytest.mark.parametrize("kind", ["stale", "conflicting"])
def test_a_report_is_not_made_true_by_a_later_problem(kind: str) -> None:
    builder = _builder()
    _report(builder, kind, "MET-1")
    builder.put_by_clock("datahub", "metrics", "MET-1", as_of=OLD, value=6.0)
    assert not _is_allowed(builder)


@pytest.mark.parametrize(
    ("kind", "reason", "is_allowed"),
    [
        ("not_eligible", {}, True),
        ("suspicious", {}, False),
        ("wrong", {"reason_code": "requirement_not_met", "reason_ref": "POL-1"}, True),
        ("not_eligible", {"reason_code": "fraud_suspected", "reason_ref": "POL-1"}, False),
    ],
)
def test_an_issue_may_state_the_reason_for_a_refusal(kind: str, reason: dict[str, str], is_allowed: bool) -> None:
    builder = _builder()
    _report(builder, kind, "REC-1", **reason)
    assert _is_allowed(builder, REFUSAL) is is_allowed
