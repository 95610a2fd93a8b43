"""The history of a vendor onboarding is based on the agent's observations, not on its intentions."""

from __future__ import annotations

from typing import Any

import pytest

from companyos.cli.milestones import Milestone, MilestoneTracker
from tests.client.builders import a_step

TICKET = {"key": "OPS-1042", "priority": None, "verified": False}
STALE = {"metric_id": "MET-1", "value": 85.0, "unit": "points", "as_of": "2026-01-20T06:00:00Z", "is_stale": True}
FRESH = STALE | {"value": 82.0, "as_of": "2026-03-02T09:40:00Z", "is_stale": False}
CFO = {
    "person": {"id": "E-1", "name": "Mara Lindqvist"},
    "out_of_office": True,
    "back_on": "2026-03-09",
    "deputy": {"id": "E-2", "name": "Tom Okafor"},
    "deputy_out_of_office": False,
}
APPROVAL = {"id": "APR-7", "status": "pending", "approver_id": "E-2"}


def readings(*found: dict[str, Any]) -> dict[str, Any]:
    return {"key": "compliance_score", "subject": "VEN-207", "readings": list(found)}


def describe_events(tracker: MilestoneTracker, tool: str, result: dict[str, Any]) -> list[str]:
    events = tracker.observe(tool, a_step(result=result))
    return [f"{'passed' if event.is_passed else 'met'} {event.milestone.number}: {event.fact}" for event in events]


def test_all_milestones_are_described_once_in_order() -> None:
    tracker = MilestoneTracker("OPS-1042")
    lines = [
        *describe_events(tracker, "ticketdesk_get_ticket", TICKET),
        *describe_events(tracker, "ticketdesk_get_ticket", TICKET),
        *describe_events(tracker, "ticketdesk_update_ticket", TICKET | {"priority": "high"}),
        *describe_events(tracker, "ticketdesk_verify_ticket", TICKET | {"priority": "high", "verified": True}),
        *describe_events(tracker, "datahub_query_metric", readings(STALE)),
        *describe_events(tracker, "datahub_query_metric", readings(FRESH)),
        *describe_events(tracker, "datahub_get_approver", {"role": "cfo", "holders": [CFO]}),
        *describe_events(tracker, "datahub_get_person", {"id": "E-2", "name": "Tom Okafor"}),
        *describe_events(tracker, "approvalflow_submit_approval", APPROVAL),
        *describe_events(tracker, "approvalflow_get_approval", APPROVAL),
        *describe_events(tracker, "approvalflow_get_approval", APPROVAL | {"status": "approved"}),
    ]
    assert lines == [
        "met 1: OPS-1042 has no priority",
        "met 2: OPS-1042 is not verified",
        "passed 1: OPS-1042 has priority high",
        "passed 2: OPS-1042 is verified",
        "met 3: compliance score 85 is of 2026-01-20, which is too old",
        "passed 3: compliance score is 82, as of 2026-03-02",
        "met 4: CFO Mara Lindqvist is out of office, back on 2026-03-09",
        "passed 4: APR-7 goes to the delegate, Tom Okafor",
        "met 5: APR-7 is pending",
        "passed 5: APR-7 is approved",
    ]
    assert tracker.is_complete


@pytest.mark.parametrize(
    ("tool", "result"),
    [
        ("ticketdesk_get_ticket", TICKET | {"priority": "low", "verified": True}),
        ("datahub_query_metric", readings(FRESH)),
        ("approvalflow_get_approval", APPROVAL | {"status": "approved"}),
        ("datahub_get_approver", {"role": "cfo", "holders": [CFO | {"out_of_office": False}]}),
        ("ticketdesk_get_ticket", TICKET | {"key": "OPS-7"}),
    ],
)
def test_irrelevant_results_meet_and_pass_no_milestone(tool: str, result: dict[str, Any]) -> None:
    tracker = MilestoneTracker("OPS-1042")
    assert describe_events(tracker, tool, result) == []
    assert not tracker.passed


def test_a_rejected_call_meets_no_milestone() -> None:
    tracker = MilestoneTracker("OPS-1042")
    assert tracker.observe("ticketdesk_get_ticket", a_step(error="invalid_args")) == []
    assert not tracker.met


def test_a_request_to_another_approver_does_not_pass_the_absent_approver() -> None:
    tracker = MilestoneTracker("OPS-1042")
    describe_events(tracker, "datahub_get_approver", {"role": "cfo", "holders": [CFO]})
    describe_events(tracker, "approvalflow_submit_approval", APPROVAL | {"approver_id": "E-9"})
    assert Milestone.APPROVER not in tracker.passed


@pytest.mark.parametrize("holder", [CFO | {"deputy": None}, CFO | {"deputy_out_of_office": True}])
def test_a_delegation_by_the_absent_approver_names_a_delegate_if_there_is_no_deputy(holder: dict[str, Any]) -> None:
    tracker = MilestoneTracker("OPS-1042")
    describe_events(tracker, "datahub_get_approver", {"role": "cfo", "holders": [holder]})
    describe_events(tracker, "approvalflow_submit_approval", APPROVAL)
    assert Milestone.APPROVER not in tracker.passed
    describe_events(tracker, "approvalflow_list_delegations", {"items": [{"from_id": "E-1", "to_id": "E-2"}]})
    assert describe_events(tracker, "approvalflow_get_approval", APPROVAL)[0].startswith(
        "passed 4: APR-7 goes to the delegate"
    )


def test_a_delegation_by_another_person_names_no_delegate() -> None:
    tracker = MilestoneTracker("OPS-1042")
    describe_events(tracker, "datahub_get_approver", {"role": "cfo", "holders": [CFO | {"deputy": None}]})
    describe_events(tracker, "approvalflow_list_delegations", {"items": [{"from_id": "E-5", "to_id": "E-2"}]})
    describe_events(tracker, "approvalflow_submit_approval", APPROVAL)
    assert Milestone.APPROVER not in tracker.passed
