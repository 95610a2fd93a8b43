"""Rubrics: neither empty nor ambiguous, with bounded milestones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest
from pydantic import ValidationError

from companyos_gateway.evaluation import (
    Check,
    Evidence,
    FinishDeclaration,
    Milestone,
    Mismatch,
    RubricError,
    Standing,
    TaskRubric,
)
from companyos_gateway.evaluation.milestones import MAX_MILESTONE_POINTS
from companyos_gateway.evaluation.mismatch import find_row_mismatch
from companyos_gateway.evaluation.rubric import DECLARED_CHECK_ID
from companyos_gateway.scenarios.rescoring import to_episode_verdict
from tests.evaluation.evidence_builder import EvidenceBuilder


def _check(name: str, *causes: str, passes_idle: bool = False) -> Check:
    return Check(
        name, passes_idle, lambda evidence: find_row_mismatch(evidence, "desk", "notes", name, {"done": True}), causes
    )


def _is_done(name: str) -> Callable[[Evidence], bool]:
    return lambda evidence: _check(name).find_mismatch(evidence) is None


def _declared(_evidence: Evidence, finish: FinishDeclaration | None) -> Mismatch | None:
    is_done = finish is None or finish.outcome == "done"
    return None if is_done else Mismatch("finish", "outcome: done", f"outcome: {finish and finish.outcome}")


def _rubric(**parts: Any) -> TaskRubric:
    given: dict[str, Any] = {
        "checks": [_check("a"), _check("b")],
        "milestones": [Milestone("a", 2.0, _is_done("a"))],
        "declaration": _declared,
        "damage": lambda _evidence: [],
        "rejections": lambda _evidence: 0,
        "is_closed": _is_done("b"),
    }
    return TaskRubric(**{**given, **parts})


def _builder(*done: str) -> EvidenceBuilder:
    builder = EvidenceBuilder(desk={"notes": {name: {"done": False} for name in ("a", "b")}})
    for name in done:
        builder.put("desk", "notes", name, done=True)
    return builder


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"checks": []}, "no check fails"),
        ({"checks": [_check("a", passes_idle=True)]}, "no check fails"),
        ({"checks": [_check("a"), _check("a")]}, "appears twice"),
        ({"checks": [_check(DECLARED_CHECK_ID)]}, "appears twice"),
        ({"checks": [_check("a", "b"), _check("b", "a")]}, "cause each other"),
        ({"milestones": [Milestone("a", 1.0, _is_done("a")), Milestone("a", 2.0, _is_done("b"))]}, "milestones"),
        ({"milestones": [Milestone("a", 0.0, _is_done("a"))]}, "milestones"),
    ],
)
def test_an_ambiguous_or_empty_rubric_is_an_error(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(RubricError, match=message):
        _rubric(**parts)


def test_the_goal_is_met_when_every_check_passes() -> None:
    assert not _rubric().judge(_builder().evidence, None).success
    assert not _rubric().judge(_builder("a").evidence, None).success
    verdict = _rubric().judge(_builder("a", "b").evidence, None)
    assert (verdict.success, verdict.potential) == (True, 2.0)
    assert [check.id for check in verdict.checks] == ["a", "b", DECLARED_CHECK_ID]


def test_milestones_that_are_paid_at_the_end_count_apart_until_the_episode_is_over() -> None:
    rubric = _rubric(milestones=[Milestone("a", 2.0, _is_done("a")), Milestone("b", 1.0, _is_done("b"), at_end=True)])
    evidence = _builder("a", "b").evidence
    verdict = rubric.judge(evidence, None)
    assert (verdict.potential, verdict.at_end) == (2.0, 1.0)
    assert [to_episode_verdict(verdict, evidence, is_over=over).potential for over in (False, True)] == [2.0, 3.0]


def test_a_wrong_declaration_fails_a_solved_task() -> None:
    refused = FinishDeclaration(outcome="refused", summary="")
    verdict = _rubric().judge(_builder("a", "b").evidence, refused)
    assert not verdict.success
    assert [check.id for check in verdict.checks if not check.passed] == [DECLARED_CHECK_ID]


def test_a_failed_check_reports_what_was_expected_what_was_found_and_the_step() -> None:
    builder = _builder("a", "b")
    builder.put("desk", "notes", "a", done=False)
    failed = next(one for one in _rubric().judge(builder.evidence, None).checks if not one.passed)
    assert failed.mismatch == Mismatch("desk.notes[a]", "done: true", "done: false", 3)
    assert failed.mismatch.source_id == "a"


def test_a_failed_check_reports_when_its_entity_was_last_shown() -> None:
    builder = _builder("a", "b")
    for step in (2, 9):
        builder.evidence.add_view(step, [{"key": "a", "seen": step}])
    builder.put("desk", "notes", "a", done=False)
    verdict = _rubric().judge(builder.evidence, None)
    failed = next(one for one in to_episode_verdict(verdict, builder.evidence).checks if not one.passed)
    assert (failed.step, failed.source, failed.known_at) == (3, "a", 2)


def test_a_consequence_names_its_cause_and_the_cause_is_the_primary_failure() -> None:
    rubric = _rubric(checks=[_check("b", "a", "absent"), _check("a")])
    verdict = rubric.judge(_builder().evidence, None)
    assert [(one.id, one.caused_by) for one in verdict.checks if not one.passed] == [("b", ("a",)), ("a", ())]
    assert verdict.primary_failure == "a"
    assert rubric.judge(_builder("a").evidence, None).primary_failure == "b"
    assert rubric.judge(_builder("a", "b").evidence, None).primary_failure is None


def test_the_earliest_failure_is_primary_and_checks_that_never_passed_come_last() -> None:
    builder = _builder("a", "b")
    assert _rubric().judge(_builder().evidence, None).primary_failure == "a"
    builder.put("desk", "notes", "b", done=False)
    builder.put("desk", "notes", "a", done=False)
    assert _rubric().judge(builder.evidence, None).primary_failure == "b"
    refused = FinishDeclaration(outcome="refused", summary="")
    assert _rubric().judge(_builder().evidence, refused).primary_failure == DECLARED_CHECK_ID
    assert _rubric().judge(builder.evidence, refused).primary_failure == "b"


def test_damage_forfeits_success() -> None:
    rubric = _rubric(damage=lambda _evidence: ["desk.notes[c]"])
    verdict = rubric.judge(_builder("a", "b").evidence, None)
    assert all(check.passed for check in verdict.checks)
    assert not verdict.success
    assert verdict.damage == ("desk.notes[c]",)


def test_a_standing_equals_the_verdict_without_its_checks() -> None:
    def never(_evidence: Evidence) -> Mismatch | None:
        raise AssertionError

    rubric = _rubric(damage=lambda _evidence: ["desk.notes[c]"], rejections=lambda _evidence: 2)
    verdict = rubric.judge(_builder("a", "b").evidence, None)
    standing = _rubric(
        checks=[replace(_check("a"), find_mismatch=never)],
        damage=lambda _evidence: ["desk.notes[c]"],
        rejections=lambda _evidence: 2,
    ).standing(_builder("a", "b").evidence)
    assert standing == Standing(potential=2.0, damage=("desk.notes[c]",), rejections=2, closed=True)
    assert all(getattr(verdict, field.name) == getattr(standing, field.name) for field in fields(Standing))


def test_milestones_are_worth_at_most_nine() -> None:
    rubric = _rubric(milestones=[Milestone(str(n), 4.0, lambda _: True) for n in range(5)])
    assert rubric.judge(_builder().evidence, None).potential == MAX_MILESTONE_POINTS


def test_the_potential_can_be_recomputed_from_stored_evidence() -> None:
    evidence = _builder("a").evidence
    stored = Evidence.from_json(evidence.as_json())
    assert _rubric().potential(stored, at_end=False) == _rubric().potential(evidence, at_end=False)


@pytest.mark.parametrize(
    "declared",
    [
        {"outcome": "won", "summary": ""},
        {"outcome": "done"},
        {"outcome": "done", "summary": "", "reason_code": "because"},
        {"outcome": "done", "summary": "", "score": 1},
        {"outcome": "done", "summary": "x" * 2001},
    ],
)
def test_an_invalid_declaration_is_rejected(declared: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FinishDeclaration.model_validate(declared)
