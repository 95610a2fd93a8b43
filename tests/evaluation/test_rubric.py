"""Rubrics: never empty, never ambiguous, milestones bounded."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from companyos_gateway.evaluation import Check, Evidence, FinishDeclaration, Milestone, RubricError, TaskRubric
from companyos_gateway.evaluation.rubric import DECLARED_CHECK_ID, MAX_MILESTONE_POINTS
from tests.evaluation.evidence_builder import EvidenceBuilder


def _check(name: str, *, passes_idle: bool = False) -> Check:
    def evaluate(evidence: Evidence) -> tuple[bool, str]:
        row = evidence.row("desk", "notes", name)
        return row is not None and row["done"], name

    return Check(name, passes_idle, evaluate)


def _rubric(**parts: Any) -> TaskRubric:
    given: dict[str, Any] = {
        "checks": [_check("a"), _check("b")],
        "milestones": [Milestone("a", 2.0, lambda evidence: _check("a").evaluate(evidence)[0])],
        "declaration": lambda _evidence, finish: (finish is None or finish.outcome == "done", "declared"),
        "damage": lambda _evidence: [],
        "rejections": lambda _evidence: 0,
        "is_closed": lambda evidence: _check("b").evaluate(evidence)[0],
    }
    return TaskRubric(**{**given, **parts})


def _builder(*done: str) -> EvidenceBuilder:
    builder = EvidenceBuilder(desk={"notes": {name: {"done": False} for name in ("a", "b")}})
    for name in done:
        builder.put("desk", "notes", name, done=True)
    return builder


def test_a_rubric_without_a_check_that_fails_idle_is_an_error() -> None:
    with pytest.raises(RubricError, match="no check fails"):
        _rubric(checks=[])
    with pytest.raises(RubricError, match="no check fails"):
        _rubric(checks=[_check("a", passes_idle=True)])


def test_two_checks_of_one_id_are_an_error() -> None:
    with pytest.raises(RubricError, match="appears twice"):
        _rubric(checks=[_check("a"), _check("a")])
    with pytest.raises(RubricError, match="appears twice"):
        _rubric(checks=[_check(DECLARED_CHECK_ID)])


def test_milestones_have_ids_of_their_own_and_pay_something() -> None:
    with pytest.raises(RubricError, match="milestones"):
        _rubric(milestones=[Milestone("a", 1.0, lambda _: True), Milestone("a", 2.0, lambda _: True)])
    with pytest.raises(RubricError, match="milestones"):
        _rubric(milestones=[Milestone("a", 0.0, lambda _: True)])


def test_the_goal_is_met_when_every_check_passes() -> None:
    assert not _rubric().judge(_builder().evidence, None).goal_met
    assert not _rubric().judge(_builder("a").evidence, None).goal_met
    verdict = _rubric().judge(_builder("a", "b").evidence, None)
    assert (verdict.goal_met, verdict.success, verdict.potential) == (True, True, 2.0)
    assert [check.id for check in verdict.checks] == ["a", "b", DECLARED_CHECK_ID]


def test_a_wrong_declaration_fails_what_is_otherwise_done() -> None:
    refused = FinishDeclaration(outcome="refused", summary="")
    verdict = _rubric().judge(_builder("a", "b").evidence, refused)
    assert not verdict.goal_met
    assert not verdict.success
    assert [check.id for check in verdict.checks if not check.passed] == [DECLARED_CHECK_ID]


def test_damage_forfeits_success() -> None:
    rubric = _rubric(damage=lambda _evidence: ["desk.notes[c]"])
    verdict = rubric.judge(_builder("a", "b").evidence, None)
    assert verdict.goal_met
    assert not verdict.success
    assert verdict.damage == ("desk.notes[c]",)


def test_milestones_pay_at_most_nine() -> None:
    rubric = _rubric(milestones=[Milestone(str(n), 4.0, lambda _: True) for n in range(5)])
    assert rubric.judge(_builder().evidence, None).potential == MAX_MILESTONE_POINTS


def test_the_potential_is_recomputed_from_stored_evidence_as_it_was() -> None:
    evidence = _builder("a").evidence
    assert _rubric().potential(Evidence.from_json(evidence.as_json())) == _rubric().potential(evidence)


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
def test_a_declaration_that_does_not_fit_is_refused(declared: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        FinishDeclaration.model_validate(declared)
