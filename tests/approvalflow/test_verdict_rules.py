"""Verdicts: objections in order, planned reactions, approval."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from companyos_approvalflow.decisions.model import DecisionKind, Reaction, ReactionKind, Turn, Verdict
from companyos_approvalflow.decisions.rules import honest_objection, is_too_old, verdict
from tests.approvalflow.builders import AGENT, CFO, CONTROLLER, FIELDS, NOW, a_case, a_delegation, a_request, a_type

STALE = {**FIELDS, "score_as_of": "2026-03-01T08:59:00Z"}
OBJECTION = Verdict(DecisionKind.REJECTED, "missing_justification", "")


def _objection(case: dict[str, Any] | None = None, **request: Any) -> str | None:
    found = honest_objection(a_case(**(case or {})), a_request(**request), NOW)
    return None if found is None else found.reason_code


def test_a_valid_request_has_no_objection() -> None:
    assert _objection() is None


@pytest.mark.parametrize(
    "request_",
    [
        {"requester_id": CFO},
        {"subject": CFO},
        {"fields": {**FIELDS, "for_person": CFO}},
    ],
)
def test_a_person_whom_the_request_concerns_has_a_conflict_of_interest(request_: dict[str, Any]) -> None:
    assert _objection(None, **request_) == "conflict_of_interest"


def test_a_former_approver_has_a_conflict_of_interest() -> None:
    assert _objection({"approvers_before": frozenset({CFO})}) == "conflict_of_interest"


def test_a_person_in_an_ordinary_field_has_no_conflict_of_interest() -> None:
    assert _objection(None, fields={**FIELDS, "vendor_id": CFO}) is None


@pytest.mark.parametrize("text", ["", " " * 40, "x" * 19, f"  {'x' * 19}  "])
def test_a_justification_below_twenty_characters_is_missing(text: str) -> None:
    assert _objection(None, justification=text) == "missing_justification"


def test_a_justification_of_twenty_characters_is_sufficient() -> None:
    assert _objection(None, justification="x" * 20) is None


def test_evidence_older_than_its_limit_at_submission_is_too_old() -> None:
    assert _objection(None, fields=STALE) == "evidence_too_old"


def test_evidence_at_its_limit_is_fresh() -> None:
    assert _objection(None, fields={**FIELDS, "score_as_of": "2026-03-01T09:00:00Z"}) is None


def test_the_age_of_evidence_is_measured_at_submission() -> None:
    assert honest_objection(a_case(), a_request(), NOW + timedelta(days=4)) is None


def test_unreadable_evidence_is_too_old() -> None:
    spec = a_type().fields[2]
    assert is_too_old(spec, a_request(fields={**FIELDS, "score_as_of": "yesterday"}))
    assert not is_too_old(spec, a_request(fields={}))


def test_an_amount_above_a_lower_role_is_over_the_limit() -> None:
    assert _objection(None, approver_id=CONTROLLER) == "over_the_limit"


def test_an_amount_above_the_delegations_limit_is_over_the_limit() -> None:
    case = {"delegations": [a_delegation(to_id="E-7", limit_cents=1)]}
    assert _objection(case, approver_id="E-7") == "over_the_limit"


def test_authority_lost_since_the_submission_is_not_an_entitlement() -> None:
    case = {"delegations": [a_delegation(to_id="E-7", revoked_at=NOW)]}
    assert _objection(case, approver_id="E-7") == "not_entitled"


def test_the_first_objection_in_order_is_reported() -> None:
    everything = {"subject": CONTROLLER, "justification": "", "fields": STALE, "approver_id": CONTROLLER}
    assert _objection(None, **everything) == "conflict_of_interest"
    assert _objection(None, **{**everything, "subject": "V-1"}) == "missing_justification"
    assert _objection(None, approver_id=CONTROLLER, fields=STALE) == "evidence_too_old"


def test_a_request_without_objection_or_planned_decision_is_approved() -> None:
    assert verdict(None, Turn(1, None)).kind is DecisionKind.APPROVED


def test_an_objection_takes_precedence_over_a_planned_decision() -> None:
    assert verdict(OBJECTION, Turn(1, Reaction(ReactionKind.REQUEST_INFO, None, "", 0))) == OBJECTION


@pytest.mark.parametrize(
    ("planned", "kind"),
    [
        (ReactionKind.REJECT, DecisionKind.REJECTED),
        (ReactionKind.REQUEST_INFO, DecisionKind.INFO_REQUESTED),
        (ReactionKind.SLOW, DecisionKind.APPROVED),
    ],
)
def test_a_planned_decision_takes_precedence_over_approval(planned: ReactionKind, kind: DecisionKind) -> None:
    assert verdict(None, Turn(1, Reaction(planned, "why", "Because.", 0))).kind is kind


def test_a_planned_rejection_states_its_reason() -> None:
    decided = verdict(None, Turn(1, Reaction(ReactionKind.REJECT, "budget_frozen", "No budget this quarter.", 0)))
    assert (decided.reason_code, decided.reason) == ("budget_frozen", "No budget this quarter.")


def test_the_requester_never_decides() -> None:
    assert _objection(None, approver_id=AGENT) == "conflict_of_interest"
