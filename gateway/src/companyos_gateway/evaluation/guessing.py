"""Guessing: the number of wrong approvers and wrong requests that an agent may try."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.approval_requests import was_taken_back
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.mismatch import Mismatch, list_names
from companyos_gateway.evaluation.rubric import Check

MAX_GUESSES = 2
"""Maximum number of guesses per episode: people whom ApprovalFlow does not accept as approvers, and wrong requests that
the agent took back."""

NOT_ENTITLED = frozenset(
    {
        "approver-not-entitled",
        "approver-departed",
        "own-request",
        "already-approved-by",
        "delegation-revoked",
        "delegation-ended",
        "delegation-not-started",
        "delegation-out-of-scope",
        "delegation-limit-too-low",
    }
)
"""Error codes of ApprovalFlow for a person who may not approve. Naming a person who is out of office is not a guess."""

RequestPredicate = Callable[[Evidence, row_views.RequestView], bool]
TypePredicate = Callable[[str | None], bool]
"""Function that returns whether an approval type counts; None stands for a call without a type."""


def any_type(_type_key: str | None) -> bool:
    """Return True: every approval type counts."""
    return True


def guessing_check(
    requester_id: str,
    is_valid: RequestPredicate,
    check_id: str = "not_guessed",
    concerns: TypePredicate = any_type,
) -> Check:
    """Return the check that the agent did not try approvers or requests one after another.

    `is_valid` returns whether a request was right and did not have to be taken back, `concerns` whether requests of an
    approval type count.
    """

    def find_mismatch(evidence: Evidence) -> Mismatch | None:
        guesses = refused_approvers(evidence, concerns)
        for request in evidence.submitted_requests(requester_id):
            if concerns(request.type_key) and was_taken_back(evidence, request.id) and not is_valid(evidence, request):
                guesses[request.id] = evidence.row_changes(row_views.APPROVALFLOW, "requests", request.id)[0].step
        if len(guesses) <= MAX_GUESSES:
            return None
        names = sorted(guesses, key=lambda name: guesses[name])
        expected = f"at most {MAX_GUESSES} people asked who may not approve, and wrong requests taken back"
        return Mismatch(f"{row_views.APPROVALFLOW}.requests", expected, list_names(names), guesses[names[MAX_GUESSES]])

    return Check(check_id, True, find_mismatch)


def refused_approvers(evidence: Evidence, concerns: TypePredicate = any_type) -> dict[str, int]:
    """Return the people whom ApprovalFlow did not accept as approvers, with the step of their first refusal."""
    return {
        str(call.arguments.get("approver_id")): call.step
        for call in reversed(evidence.refused_calls(row_views.APPROVALFLOW))
        if call.code in NOT_ENTITLED and concerns(_type_of(evidence, call.arguments))
    }


def _type_of(evidence: Evidence, arguments: Mapping[str, Any]) -> str | None:
    """Return the approval type of a call, from the request that it names or from its arguments."""
    request = evidence.row(row_views.APPROVALFLOW, "requests", str(arguments.get("request_id")))
    type_key: str | None = arguments.get("type_key") if request is None else request["type_key"]
    return type_key
