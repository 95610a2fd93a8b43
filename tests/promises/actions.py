"""Actions of the episodes: marked writes, reads, waits and invalid calls."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.promises.model import MARK, Action

_WORDS = ("ash", "birch", "cedar")
_FIELDS = {"vendor_id": "V-204", "score_as_of": "2026-03-02T08:40:00Z", "annual_cost_cents": 1_250_000}


def _writes(word: str) -> list[Action]:
    mark = MARK + word
    ticket = {"title": mark, "type": "task", "team_id": "operations"}
    issue = {"subject": "MET-1", "kind": "stale", "description": mark}
    approval: dict[str, Any] = {"type_key": "vendor_onboarding", "approver_id": "E-104", "subject": mark}
    note = {"request_id": "APR-1002", "body": mark}
    return [
        Action("ticketdesk_create_ticket", ticket, ("ticketdesk", "tickets", mark)),
        Action("ticketdesk_add_comment", {"key": "OPS-301", "body": mark}, ("ticketdesk", "comments", mark)),
        Action("datahub_report_data_issue", issue, ("datahub", "data_issues", mark)),
        Action(
            "approvalflow_submit_approval",
            {**approval, "fields": _FIELDS},
            ("approvalflow", "requests", mark),
            may_be_refused=True,
        ),
        Action("approvalflow_add_approval_note", note, ("approvalflow", "notes", mark), may_be_refused=True),
    ]


WRITES = st.sampled_from([action for word in _WORDS for action in _writes(word)])
READS = st.sampled_from(
    [
        Action("ticketdesk_list_tickets", {"limit": 3}),
        Action("ticketdesk_list_comments", {"key": "OPS-301"}),
        Action("approvalflow_list_approvals", {}),
        Action("datahub_list_sources", {}),
        Action("wait", {"minutes": 90}),
        Action("wait", {"until": "next_working_morning"}),
        Action("no_such_tool", {}, is_invalid=True),
    ]
)
ACTIONS = WRITES | WRITES | READS
