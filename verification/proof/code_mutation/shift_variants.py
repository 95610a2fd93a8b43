"""Variants of a shift's final state: requests taken back, parts completed too early, and guesses."""

from __future__ import annotations

from datetime import timedelta

from companyos_gateway.evaluation.guessing import MAX_GUESSES
from verification.proof.final_states.final_state import FinalState
from verification.proof.final_states.mutations import APPROVALFLOW, TICKETDESK, Mutation

_REFUSED_CALLS = MAX_GUESSES + 1


def _take_requests_back(final_state: FinalState) -> None:
    """End all requests as withdrawn by the agent, before anybody acted on them."""
    changes = final_state.changes[APPROVALFLOW]
    made = [one for one in changes if one["table"] == "requests" and one["before"] is None]
    keys = {one["key"] for one in made}
    taken_back = [{**one, "before": one["after"], "after": {**one["after"], "status": "withdrawn"}} for one in made]
    others = [one for one in changes if one["table"] != "requests" or one["key"] not in keys]
    final_state.changes[APPROVALFLOW] = [*others, *made, *taken_back]


def _take_other_requests_back(final_state: FinalState) -> None:
    """End all requests as withdrawn, and let them be of a type that no case needs."""
    _take_requests_back(final_state)
    for change in final_state.changes[APPROVALFLOW]:
        if change["table"] == "requests" and change["actor"] == "agent":
            change["after"] = {**change["after"], "type_key": "another_type"}


def _complete_parts_early(final_state: FinalState) -> None:
    """Let the agent resolve tickets besides the entry tickets during the freeze, four days after the start."""
    moment = (final_state.instance.started_at + timedelta(days=4)).isoformat().replace("+00:00", "Z")
    for change in final_state.changes[TICKETDESK]:
        is_resolved = change["table"] == "tickets" and (change["after"] or {}).get("status") == "resolved"
        if is_resolved and change["key"] not in final_state.instance.rubric.cases:
            change["at"] = moment


def _guess_approvers(final_state: FinalState) -> None:
    """Escalate a request to people who may not decide, one after another."""
    request_id = next(one["key"] for one in final_state.changes[APPROVALFLOW] if one["table"] == "requests")
    _add_refused_calls(final_state, "escalate_approval", request_id=request_id)


def _ask_for_other_approvals(final_state: FinalState) -> None:
    """Ask for approvals that no case needs, from people who may not give them."""
    _add_refused_calls(final_state, "submit_approval", type_key="another_type")


def _add_refused_calls(final_state: FinalState, operation: str, **arguments: str) -> None:
    calls = final_state.audits[APPROVALFLOW]
    for number in range(_REFUSED_CALLS):
        refused = {"operation": operation, "status": 409, "code": "approver-not-entitled", "actor": "agent"}
        arguments["approver_id"] = f"E-{number}"
        calls.append({**calls[-1], **refused, "step": calls[-1]["step"] + 1, "arguments": dict(arguments)})


SHIFT_VARIANTS: tuple[Mutation, ...] = (
    _take_requests_back,
    _take_other_requests_back,
    _complete_parts_early,
    _guess_approvers,
    _ask_for_other_approvals,
)
