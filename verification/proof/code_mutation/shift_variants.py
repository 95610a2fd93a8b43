"""Variants of a shift's final state: withdrawn requests, other resolution times, other comments, and guesses."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from companyos_gateway.evaluation.guessing import MAX_GUESSES
from companyos_gateway.scenarios.shift_remarks import REMARK_GRACE
from companyos_players.shift import DESK_TOPIC, TICKET_KEY
from companyos_shared.wire.control import Row
from verification.proof.final_states.final_state import FinalState
from verification.proof.final_states.mutations import APPROVALFLOW, TICKETDESK, Mutation

_REFUSED_CALLS = MAX_GUESSES + 1


def _take_requests_back(final_state: FinalState) -> None:
    """End all new requests as withdrawn by the agent, before others acted on them."""
    changes = final_state.changes[APPROVALFLOW]
    made = [one for one in changes if one["table"] == "requests" and one["before"] is None]
    keys = {one["key"] for one in made}
    taken_back = [{**one, "before": one["after"], "after": {**one["after"], "status": "withdrawn"}} for one in made]
    others = [one for one in changes if one["table"] != "requests" or one["key"] not in keys]
    final_state.changes[APPROVALFLOW] = [*others, *made, *taken_back]


def _take_other_requests_back(final_state: FinalState) -> None:
    """End all new requests as withdrawn, and give them a type that no case requires."""
    _take_requests_back(final_state)
    for change in final_state.changes[APPROVALFLOW]:
        if change["table"] == "requests" and change["actor"] == "agent":
            change["after"] = {**change["after"], "type_key": "another_type"}


def _guess_approvers(final_state: FinalState) -> None:
    """Add refused escalations of a request to people who may not decide."""
    request_id = next(one["key"] for one in final_state.changes[APPROVALFLOW] if one["table"] == "requests")
    _add_refused_calls(final_state, "escalate_approval", request_id=request_id)


def _ask_for_other_approvals(final_state: FinalState) -> None:
    """Add refused requests of a type that no case requires, submitted to people who may not decide."""
    _add_refused_calls(final_state, "submit_approval", type_key="another_type")


def _add_refused_calls(final_state: FinalState, operation: str, **arguments: str) -> None:
    calls = final_state.audits[APPROVALFLOW]
    for number in range(_REFUSED_CALLS):
        refused = {"operation": operation, "status": 409, "code": "approver-not-entitled", "actor": "agent"}
        arguments["approver_id"] = f"E-{number}"
        calls.append({**calls[-1], **refused, "step": calls[-1]["step"] + 1, "arguments": dict(arguments)})


def _complete_when_freeze_ends(final_state: FinalState) -> None:
    """Resolve every ticket at the moment at which the freeze ends by the last version of the desk's policy."""
    policies = final_state.instance.documents["datahub"]["policies"]
    moment = [one["parameters"]["completion_from"] for one in policies if one["topic"] == DESK_TOPIC][-1]
    for change in _ends(final_state):
        change["at"] = datetime.fromisoformat(moment).isoformat()


def _end_when_first_remarks_bind(final_state: FinalState) -> None:
    """Resolve tickets at the moment at which their first comments become binding, at step 1."""
    _end_when_remarks_bind(final_state, reversed(_remarks(final_state)))


def _end_when_last_remarks_bind(final_state: FinalState) -> None:
    """Resolve tickets at the moment at which their last comments become binding, at step 1."""
    _end_when_remarks_bind(final_state, _remarks(final_state))


def _end_when_remarks_bind(final_state: FinalState, remarks: Iterable[tuple[str, str]]) -> None:
    for key, at in dict(remarks).items():
        for change in _ends(final_state, key):
            change |= {"at": (datetime.fromisoformat(at) + REMARK_GRACE).isoformat(), "step": 1}


def _leave_tickets_open(final_state: FinalState) -> None:
    """Remove the agent's resolution of tickets with binding comments."""
    ends = [change for key in dict(_remarks(final_state)) for change in _ends(final_state, key)]
    final_state.changes[TICKETDESK] = [one for one in final_state.changes[TICKETDESK] if one not in ends]


def _comment_with_the_end(final_state: FinalState) -> None:
    """Move the agent's comments to the step in which it resolves the ticket."""
    for comment in _own_comments(final_state):
        for end in _ends(final_state, comment["after"]["ticket_key"]):
            comment["step"] = end["step"]


def _name_two_requests(final_state: FinalState) -> None:
    """Mention another request in the agent's comments."""
    other = next(iter(final_state.initial[APPROVALFLOW]["requests"]))
    for comment in _own_comments(final_state):
        comment["after"] = {**comment["after"], "body": f"{comment['after']['body']} See also {other}."}


def _own_comments(final_state: FinalState) -> list[Row]:
    changes = final_state.changes[TICKETDESK]
    return [one for one in changes if one["table"] == "comments" and one["actor"] == "agent"]


def _ends(final_state: FinalState, key: str | None = None) -> list[Row]:
    """Return the changes with which the agent resolved tickets, or one ticket."""
    return [
        one
        for one in final_state.changes[TICKETDESK]
        if one["table"] == "tickets"
        and one["actor"] == "agent"
        and key in (None, one["key"])
        and (one["after"] or {}).get("status") == "resolved"
    ]


def _remarks(final_state: FinalState) -> list[tuple[str, str]]:
    """Return the entry tickets with comments that name a ticket, and the comments' times, in order of time."""
    events = final_state.instance.documents["ticketdesk"]["scheduled_events"]
    cases = final_state.instance.rubric.cases
    return sorted(
        (
            (one["data"]["ticket_key"], one["due_at"])
            for one in events
            if one["kind"] == "comment"
            and one["data"]["ticket_key"] in cases
            and TICKET_KEY.search(one["data"]["body"])
        ),
        key=lambda remark: remark[1],
    )


SHIFT_VARIANTS: tuple[Mutation, ...] = (
    _complete_when_freeze_ends,
    _end_when_first_remarks_bind,
    _end_when_last_remarks_bind,
    _leave_tickets_open,
    _comment_with_the_end,
    _name_two_requests,
    _take_requests_back,
    _take_other_requests_back,
    _guess_approvers,
    _ask_for_other_approvals,
)
